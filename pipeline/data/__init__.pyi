from .corpus import Corpus as Corpus, read_corpus as read_corpus, write_corpus as write_corpus
from .index import (
    FILES as FILES,
    INDEX_FILE as INDEX_FILE,
    QuarantineRow as QuarantineRow,
    VideoIndex as VideoIndex,
    VideoRow as VideoRow,
    read_index as read_index,
    write_index as write_index,
)
from .vocabulary import (
    BOS as BOS,
    EOS as EOS,
    PAD as PAD,
    SPECIALS as SPECIALS,
    UNK as UNK,
    Vocabulary as Vocabulary,
    read_vocabulary as read_vocabulary,
    tokenize as tokenize,
)
