from .corpus import (
    Corpus as Corpus,
    read_corpus as read_corpus,
    references_sha256 as references_sha256,
    told_subset as told_subset,
    write_corpus as write_corpus,
)
from .vocabulary import (
    BOS as BOS,
    EOS as EOS,
    PAD as PAD,
    SPECIALS as SPECIALS,
    UNK as UNK,
    Vocabulary as Vocabulary,
    count_words as count_words,
    read_vocabulary as read_vocabulary,
    write_vocabulary as write_vocabulary,
)
from .words import LATIN as LATIN, Words as Words, tokenize as tokenize
