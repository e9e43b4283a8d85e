"""How good a tree is and for whom: scores with errors, folds, flips, tables and plans."""
