"""Model files that wrap another: pickles, skops, JSON, and our own."""
