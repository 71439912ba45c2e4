"""The report: one self-contained page with scores, curves and example clips."""
