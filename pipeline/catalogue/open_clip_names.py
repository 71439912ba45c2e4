"""open_clip's names of image towers as timm's: `ViT-B-32/openai` is `vit_base_patch32_clip_224.openai`.

timm has the same weights of CLIP, SigLIP and PE-Core without the text tower. The rules go by the parts of a name;
whether timm has what they lead to is asked of timm, and the tests hold them against open_clip's own table.
"""

from __future__ import annotations

import re

from pipeline.core import UsageError

TOWER = re.compile(
    r"ViT-(?P<size>B|L|H|g|bigG|SO400M|gopt)-(?P<patch>14|16|32)(-(?P<kind>SigLIP2?|worldwide))?(-(?P<language>i18n))?"
    r"(-(?P<side>\d{3}))?(-quickgelu)?"
)
PE = re.compile(r"PE-Core-(?P<size>T|S|B|L|bigG)-(?P<patch>14|16)(-(?P<side>\d{3}))?")
RESNET = re.compile(r"RN(?P<network>50x4|50x16|50x64|50|101)(-quickgelu)?")
SIZES = {
    "T": "tiny",
    "S": "small",
    "B": "base",
    "L": "large",
    "H": "huge",
    "g": "giant",
    "bigG": "gigantic",
    "SO400M": "so400m",
    "gopt": "giantopt",
}
TAGS = {  # of open_clip, where timm has another
    "metaclip_fullcc": "metaclip_2pt5b",
    "datacomp_xl_s13b_b90k": "datacompxl",
    "datacomp_s34b_b86k": "datacompxl",
    "laion2b_s34b_b79k": "laion2b",
    "laion2b_s34b_b88k": "laion2b",
    "laion2b_s32b_b82k": "laion2b",
    "laion2b_s32b_b79k": "laion2b",
    "laion2b_s12b_b42k": "laion2b",
    "laion2b_s39b_b160k": "laion2b",
}
LATER = "ViT-g-14/laion2b_s34b_b88k"  # trained again; timm has the first training only


def timms_edition(name: str) -> str:
    """NETWORK.TAG of timm; a refusal names what can be written instead."""
    import timm

    model, _, tag = name.partition("/")
    edition = f"{_network(model)}.{_tag(model, tag)}"
    if name == LATER or edition not in timm.list_pretrained(edition):
        raise UsageError(
            f"'open_clip:{name}': write open_clip:MODEL/TAG with a CLIP, SigLIP or PE-Core of open_clip that timm has "
            "too, such as open_clip:ViT-B-32/openai",
            hint="framescribe weights import MY_NAME FILE --network timm:NETWORK takes a file of any other",
        )
    return edition


def _network(model: str) -> str:
    if found := PE.fullmatch(model):
        return f"vit_pe_core_{SIZES[found['size']]}_patch{found['patch']}_{found['side'] or 224}"
    if found := RESNET.fullmatch(model):
        return f"resnet{found['network']}_clip"
    if found := TOWER.fullmatch(model):
        kind = "siglip" if _is_siglip(found["kind"]) else "clip"
        return f"vit_{SIZES[found['size']]}_patch{found['patch']}_{kind}_{found['side'] or 224}"
    return "none"


def _tag(model: str, tag: str) -> str:
    if PE.fullmatch(model):
        return {"meta": "fb"}.get(tag, "none")
    found = TOWER.fullmatch(model)
    if found and _is_siglip(found["kind"]):
        version = "v2_" if found["kind"] == "SigLIP2" else ""
        return f"{version}{tag}{'_i18n' if found['language'] else ''}"
    if found and (found["kind"] == "worldwide") != (tag == "metaclip2_worldwide"):
        return "none"
    return TAGS.get(tag, tag)


def _is_siglip(kind: str | None) -> bool:
    return bool(kind) and kind != "worldwide"
