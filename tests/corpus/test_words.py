"""What a word is in alphabets other than the Latin."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pipeline.corpus import SPECIALS, tokenize

SENTENCES = {
    "chinese": ("一个男人在弹吉他，2次。", "一 个 男 人 在 弹 吉 他 2 次"),
    "full width": ("ＡＢＣ　１２３！", "abc 123"),
    "japanese": ("カメラが犬を撮る。", "カ メ ラ が 犬 を 撮 る"),
    "korean": ("한 남자가 기타를 친다.", "한 남자가 기타를 친다"),
    "russian": ("Мужчина играет на гитаре — «Ёж»!", "мужчина играет на гитаре ёж"),
    "arabic": ("رجلٌ يعزف على الجيتار؟", "رجلٌ يعزف على الجيتار"),
    "persian": ("مرد می‌رود", "مرد میرود"),
    "hindi": ("एक आदमी गिटार बजा रहा है।", "एक आदमी गिटार बजा रहा है"),
    "thai": ("ผู้ชายเล่นกีตาร์", "ผู้ ช า ย เ ล่ น กี ต า ร์"),
    "greek": ("Ένας άντρας παίζει", "ένας άντρας παίζει"),
    "french": ("L’homme, au café, n'a rien", "l'homme au café n'a rien"),
    "mixed": ("他在玩Xbox游戏", "他 在 玩 xbox 游 戏"),
    "decomposed": ("cafe\u0301", "caf\u00e9"),
    "no word": ("…！？ ' \u0301 😀", ""),
}


@pytest.mark.parametrize("language", SENTENCES)
def test_words_of_a_language(language: str) -> None:
    caption, words = SENTENCES[language]

    assert tokenize(caption, "unicode") == words.split(" " if words else None)


@given(st.text(max_size=40))
def test_words_are_stable_under_joining(caption: str) -> None:
    words = tokenize(caption, "unicode")

    assert tokenize(" ".join(words), "unicode") == words
    assert not set(words) & set(SPECIALS)


@given(st.text("abz0 '\t-.,!", max_size=40))
def test_of_english_they_are_the_words_of_ever(caption: str) -> None:
    """But for apostrophes that stand alone, which are no words."""
    usual = [word for word in tokenize(caption) if word.strip("'")]

    assert tokenize(caption, "unicode") == usual


def test_without_being_asked_for_they_are_of_latin_letters() -> None:
    assert tokenize("Café 一个 dog's") == ["caf", "dog's"]
