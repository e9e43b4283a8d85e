"""Solvers of optimal trees, in the features that their binarizers started from."""
