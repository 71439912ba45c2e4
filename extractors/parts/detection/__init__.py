"""Parts of the region families: detectors, the geometry of boxes, and the rule that chooses regions."""
