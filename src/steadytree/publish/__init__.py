"""What may leave the house: the one place that rounds counts of people."""

from steadytree.publish.cells import publish
from steadytree.publish.masked_trees import (
    count_categories,
    names_for_others,
    names_of_diff,
    publish_tree,
    published_values,
    rare_names,
    rare_words,
)

__all__ = [
    "count_categories",
    "names_for_others",
    "names_of_diff",
    "publish",
    "publish_tree",
    "published_values",
    "rare_names",
    "rare_words",
]
