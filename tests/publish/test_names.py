"""Categories that few people have are in nothing that is published."""

from __future__ import annotations

import steadytree as st
from tests.report import samples


def test_categories_of_few_people_have_no_name() -> None:
    tree = samples.mixed_diff().new
    public = st.publish_tree(tree, {"colour": {"red": "rare category 1"}})
    assert "is red" not in str(public)
    assert "rare category 1" in str(public)
    unused = tree.truncate(0)
    assert not {"red", "green"} & {
        c for known in st.publish_tree(unused).categories for c in known or ()
    }
