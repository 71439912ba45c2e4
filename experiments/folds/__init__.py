"""Cross-validation: every clip is captioned by models that never saw it, and all are scored as one corpus."""
