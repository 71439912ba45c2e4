"""Words, numbers, and the way back."""

import json

import pytest
from hypothesis import given, strategies as st

from pipeline.core.errors import DamageError
from pipeline.core.sealed_file import write_sealed_json
from pipeline.corpus.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary, read_vocabulary, tokenize

captions = st.lists(st.text(max_size=40), max_size=12)


def test_tokenize_lower_cases_and_drops_punctuation():
    assert tokenize("A man's 2 dogs, run-away!\tFast\n") == ["a", "man's", "2", "dogs", "run", "away", "fast"]


@given(st.text(max_size=40))
def test_tokenize_is_stable_under_joining(caption):
    words = tokenize(caption)
    assert tokenize(" ".join(words)) == words
    assert not set(words) & set(SPECIALS)


@given(captions)
def test_training_captions_come_back_from_their_numbers(texts):
    vocabulary = Vocabulary.build(texts)
    for text in texts:
        words = tokenize(text)
        numbers = vocabulary.encode(words)
        assert numbers[-1] == EOS
        assert UNK not in numbers
        assert vocabulary.decode([BOS, *numbers, PAD, PAD]) == " ".join(words)


@given(captions, st.randoms())
def test_the_order_of_captions_does_not_matter(texts, random):
    shuffled = list(texts)
    random.shuffle(shuffled)
    assert Vocabulary.build(texts) == Vocabulary.build(shuffled)


@given(captions)
def test_json_round_trip(texts):
    vocabulary = Vocabulary.build(texts)
    assert Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json()))) == vocabulary


def test_frequent_words_first_then_alphabetical_and_rare_ones_unknown():
    texts = ["b b b", "c a", "a c", "rare"]
    assert Vocabulary.build(texts, min_count=2).words == (*SPECIALS, "b", "a", "c")
    assert Vocabulary.build(texts, min_count=2).encode(["rare", "b"]) == [UNK, 4, EOS]
    assert "rare" not in Vocabulary.build(texts, min_count=2)
    assert len(Vocabulary.build(texts, min_count=1)) == 8


def test_special_numbers_are_fixed():
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)


def test_decode_stops_at_the_end_mark():
    assert Vocabulary.build(["one two"]).decode([4, EOS, 5]) == "one"


@pytest.mark.parametrize("content", ["{", "[]", '{"words": ["<pad>", "<bos>", "<eos>", "<unk>"]}'])
def test_a_file_without_a_checksum_is_refused(tmp_path, content):
    (tmp_path / "vocabulary.json").write_text(content)
    with pytest.raises(DamageError, match=r"vocabulary.json has no checksum[\s\S]*framescribe assemble"):
        read_vocabulary(tmp_path / "vocabulary.json")


@pytest.mark.parametrize("words", [["a"], [*SPECIALS, "a", "a"], 3])
def test_words_that_are_no_vocabulary_are_refused(tmp_path, words):
    write_sealed_json(tmp_path / "vocabulary.json", {"words": words})
    with pytest.raises(DamageError, match=r"vocabulary.json cannot be read as a vocabulary"):
        read_vocabulary(tmp_path / "vocabulary.json")
