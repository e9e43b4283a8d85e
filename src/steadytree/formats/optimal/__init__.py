"""Optimal trees: gosdt, licketysplit, pycontree and pystreed."""
