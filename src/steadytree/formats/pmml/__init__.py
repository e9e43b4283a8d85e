"""PMML, in and out."""
