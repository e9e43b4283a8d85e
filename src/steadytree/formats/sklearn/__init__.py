"""scikit-learn: trees, pipelines around them, and trees in their form."""
