"""The metrics, in the usual order of a table."""

from __future__ import annotations

NAMES = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D")
ORDER = (*NAMES, "SPICE")
