"""What is behind the things: quiet sceneries without strong colours, and the loud cards of distracting frames."""

from __future__ import annotations

import colorsys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from pipeline.demo.scene import HEIGHT, WIDTH

BackdropImage = NDArray[np.float32]  # (HEIGHT, WIDTH, 3), 0 to 255
_TITLES = ("PART ONE", "COMING UP", "HELLO", "THE NEWS", "NEXT TIME", "CHAPTER 2")


def backdrop(kind: str, *, look: int) -> BackdropImage:
    rng = np.random.default_rng(look)
    picture = _BACKDROPS[kind](rng)
    return np.clip(picture * rng.uniform(0.9, 1.08), 0, 255).astype(np.float32)


def card(kind: str, *, look: int) -> BackdropImage:
    return _CARDS[kind](np.random.default_rng(look))


def _tone(rng: np.random.Generator, *, light: tuple[float, float], strong: float = 0.15) -> BackdropImage:
    """A pale colour of any hue."""
    rgb = colorsys.hls_to_rgb(rng.uniform(), rng.uniform(*light), rng.uniform(0.02, strong))
    return np.array(rgb, np.float32) * 255


def _fade(top: BackdropImage, bottom: BackdropImage) -> BackdropImage:
    down = np.linspace(0, 1, HEIGHT, dtype=np.float32)[:, None, None]
    return np.broadcast_to(top * (1 - down) + bottom * down, (HEIGHT, WIDTH, 3)).copy()


def _cloud(rng: np.random.Generator) -> NDArray[np.float32]:
    """Smooth noise from 0 to 1: random grids of growing fineness, stretched and added."""
    total = np.zeros((HEIGHT, WIDTH), np.float32)
    for cells, weight in ((3, 0.55), (6, 0.28), (14, 0.17)):
        grid = Image.fromarray(rng.uniform(size=(cells, cells + 1)).astype(np.float32))
        total += weight * np.asarray(grid.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC))
    return total[..., None].clip(0, 1)


def _studio(rng: np.random.Generator) -> BackdropImage:
    wall = _fade(_tone(rng, light=(0.5, 0.75)), _tone(rng, light=(0.35, 0.6)))
    floor = int(HEIGHT * rng.uniform(0.62, 0.8))
    wall[floor:] *= np.linspace(0.78, 0.95, HEIGHT - floor, dtype=np.float32)[:, None, None]
    return wall


def _clouds(rng: np.random.Generator) -> BackdropImage:
    amount = _cloud(rng)
    return _tone(rng, light=(0.3, 0.45)) * (1 - amount) + _tone(rng, light=(0.6, 0.8)) * amount


def _hills(rng: np.random.Generator) -> BackdropImage:
    picture = _fade(_tone(rng, light=(0.6, 0.75)), _tone(rng, light=(0.75, 0.85)))
    across = np.linspace(0, 2 * np.pi, WIDTH)
    rows = np.arange(HEIGHT)[:, None]
    for level in (0.5, 0.66, 0.82):
        ridge = HEIGHT * (level + 0.07 * np.sin(across * rng.uniform(0.6, 1.8) + rng.uniform(0, 6)))
        picture[rows > ridge] = _tone(rng, light=(0.62 - 0.35 * level, 0.7 - 0.35 * level))
    return picture


def _bricks(rng: np.random.Generator) -> BackdropImage:
    brick, mortar = _tone(rng, light=(0.4, 0.6), strong=0.2), _tone(rng, light=(0.68, 0.8))
    high, wide = int(rng.integers(13, 19)), int(rng.integers(30, 44))
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    shifted = x + (y // high % 2) * (wide // 2)
    shade = rng.uniform(0.86, 1.1, (HEIGHT // high + 1, (WIDTH + wide) // wide + 1))[y // high, shifted // wide]
    picture = brick * shade[..., None]
    picture[(y % high < 2) | (shifted % wide < 2)] = mortar
    return picture


def _planks(rng: np.random.Generator) -> BackdropImage:
    picture = _clouds(rng) * 0.35 + _fade(_tone(rng, light=(0.55, 0.7)), _tone(rng, light=(0.5, 0.65))) * 0.65
    floor = int(HEIGHT * rng.uniform(0.5, 0.62))
    image = Image.fromarray(picture.clip(0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    draw.rectangle(
        (0, floor, WIDTH, HEIGHT), fill=tuple(_tone(rng, light=(0.4, 0.55), strong=0.2).astype(int).tolist())
    )
    line = tuple(_tone(rng, light=(0.25, 0.35)).astype(int).tolist())
    for x in range(-WIDTH, 2 * WIDTH, 36):
        draw.line((WIDTH / 2 + (x - WIDTH / 2) * 0.5, floor, x, HEIGHT), fill=line, width=1)
    return np.asarray(image, np.float32)


def _skyline(rng: np.random.Generator) -> BackdropImage:
    picture = _fade(_tone(rng, light=(0.2, 0.4)), _tone(rng, light=(0.5, 0.7)))
    wall = _tone(rng, light=(0.14, 0.3))
    x = 0
    while x < WIDTH:
        wide, top = int(rng.integers(18, 40)), int(HEIGHT * rng.uniform(0.4, 0.75))
        picture[top:, x : x + wide] = wall * rng.uniform(0.8, 1.2)
        picture[top + 6 : HEIGHT : 10, x + 4 : x + wide - 4 : 7] = (210, 200, 160)
        x += wide
    return picture


def _plate(rng: np.random.Generator, *, ground: BackdropImage, ink: int) -> BackdropImage:
    """A framed plate with a title, even enough that the thing on it is as plain to see as a clip's subject."""
    image = Image.new("RGB", (WIDTH, HEIGHT), tuple(ground.astype(int).tolist()))
    draw = ImageDraw.Draw(image)
    draw.rectangle((6, 6, WIDTH - 7, HEIGHT - 7), outline=(ink, ink, ink), width=3)
    font = ImageFont.load_default(size=24)
    draw.text((WIDTH / 2, 26), str(rng.choice(_TITLES)), fill=(ink, ink, ink), anchor="mm", font=font)
    return np.asarray(image, np.float32)


def _title(rng: np.random.Generator) -> BackdropImage:
    return _plate(rng, ground=_tone(rng, light=(0.1, 0.2)), ink=235)


def _poster(rng: np.random.Generator) -> BackdropImage:
    return _plate(rng, ground=_tone(rng, light=(0.6, 0.7)), ink=30)


def _photo(rng: np.random.Generator) -> BackdropImage:
    """A scenery of its own, in a white frame."""
    picture = _BACKDROPS[str(rng.choice(sorted(_BACKDROPS)))](rng)
    inside = np.zeros((HEIGHT, WIDTH, 1), bool)
    inside[8:-8, 8:-8] = True
    return np.where(inside, picture, np.float32(248)).clip(0, 255)


_BACKDROPS: dict[str, Callable[[np.random.Generator], BackdropImage]] = {
    "studio": _studio,
    "clouds": _clouds,
    "hills": _hills,
    "bricks": _bricks,
    "planks": _planks,
    "skyline": _skyline,
}
_CARDS: dict[str, Callable[[np.random.Generator], BackdropImage]] = {
    "title": _title,
    "poster": _poster,
    "photo": _photo,
}
