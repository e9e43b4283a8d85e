"""What may leave the house: the one place that rounds counts of people."""

from steadytree.publish.names import (
    count_categories,
    names_for_others,
    names_of_diff,
    rare_names,
    rare_words,
)
from steadytree.publish.published import publish, publish_space, publish_tree
from steadytree.publish.rounding import published_means, published_shares

__all__ = [
    "count_categories",
    "names_for_others",
    "names_of_diff",
    "publish",
    "publish_space",
    "publish_tree",
    "published_means",
    "published_shares",
    "rare_names",
    "rare_words",
]
