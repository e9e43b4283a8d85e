"""Everything a retraining says about people, recomputed from the raw rows by hand."""
