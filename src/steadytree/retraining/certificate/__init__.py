"""How much better any tree of a stated family could be than the one the search found."""
