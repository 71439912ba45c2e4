"""Do the papers' ideas work? Each against the same model without it, on the slice of the demo set that needs it."""
