from .bleu import BleuScorer as BleuScorer, bleu_of_counts as bleu_of_counts
from .cider import CiderScorer as CiderScorer, DocumentFrequencies as DocumentFrequencies
from .jars import METEOR as METEOR, SPICE as SPICE, TOKENIZER as TOKENIZER, jar_path as jar_path
from .java import JavaError as JavaError, JavaProcess as JavaProcess, JavaRuntime as JavaRuntime, find_java as find_java
from .meteor import (
    WORTH as WORTH,
    Meteor as Meteor,
    meteor_process as meteor_process,
    processes_worth as processes_worth,
)
from .ngram_vocabulary import MAX_ORDER as MAX_ORDER, Floats as Floats
from .ngrams import NgramIndex as NgramIndex
from .rouge import RougeScorer as RougeScorer
