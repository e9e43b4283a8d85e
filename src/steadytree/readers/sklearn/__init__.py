"""scikit-learn: trees, what is around them, and pipelines told in their raw columns."""
