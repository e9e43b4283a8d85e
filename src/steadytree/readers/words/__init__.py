"""Trees that a person typed or drew, and nested dictionaries."""
