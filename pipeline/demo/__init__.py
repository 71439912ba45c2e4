"""The demo set: short made clips with sound and captions, the same bytes from the same seed."""
