"""Priced edits: the search for a tree that is better by more than its change costs."""
