"""Files of models: our own, .skops, and pickles on request."""
