"""What gcc makes of the file that is written decides as the tree."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.exceptions import InputError
from steadytree.formats.code.c import write
from steadytree.tree.columns import UNSEEN, encode_table
from tests.foreign import random_tree
from tests.formats.odd_trees import NASTY, nasty_tree
from tests.programs import require_program

FLAGS = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]
HEAD = """
#include <stdio.h>
#include "written_tree.c"
int main(void) {
    double x[TREE_N_FEATURES];
"""
CLASSIFIER = """
    double s[TREE_N_CLASSES]; double out;
    while (fread(x, sizeof(double), TREE_N_FEATURES, stdin) == TREE_N_FEATURES) {
        out = tree_leaf(x); fwrite(&out, sizeof(double), 1, stdout);
        out = tree_predict(x); fwrite(&out, sizeof(double), 1, stdout);
        tree_shares(x, s); fwrite(s, sizeof(double), TREE_N_CLASSES, stdout);
    }
    return 0;
}
"""
REGRESSION = """
    double out;
    while (fread(x, sizeof(double), TREE_N_FEATURES, stdin) == TREE_N_FEATURES) {
        out = tree_leaf(x); fwrite(&out, sizeof(double), 1, stdout);
        out = tree_value(x); fwrite(&out, sizeof(double), 1, stdout);
    }
    return 0;
}
"""


def compiled(tree: st.Tree, folder: Path, driver: str) -> Path:
    st.export_tree(tree, "c", folder / "written_tree.c")
    (folder / "driver.c").write_text(driver)
    done = subprocess.run(
        [require_program("gcc", package="gcc"), *FLAGS, "-o", "driver", "driver.c"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "driver"


def run(tree: st.Tree, rows: pd.DataFrame, folder: Path) -> tuple[Any, Any]:
    coded = encode_table(
        rows,
        names=tree.feature_names,
        n_features=tree.n_features,
        categories=tree.categories,
        unseen=UNSEEN,
    )
    driver = compiled(tree, folder, HEAD + (CLASSIFIER if tree.is_classifier else REGRESSION))
    done = subprocess.run([driver], input=coded.tobytes(), capture_output=True, check=True)
    out = np.frombuffer(done.stdout).reshape(len(rows), -1)
    np.testing.assert_array_equal(out[:, 0], tree.apply(rows))
    if not tree.is_classifier:
        return out[:, 1], None
    return tree.class_names(out[:, 1].astype(int)), out[:, 2:]


def test_names_do_no_harm_and_categories_are_found(tmp_path: Path) -> None:
    tree = nasty_tree()
    driver = """
#include <stdio.h>
#include "written_tree.c"
int main(void) {
    char text[200]; int feature = 0, k, c;
    for (;;) {
        for (k = 0; (c = getchar()) > 0; k++) text[k] = (char)c;
        if (c != 0) break;
        text[k] = 0;
        printf("%g ", tree_category(feature, text));
    }
    printf("%g %g", tree_category(1, "x"), tree_category_of_number(0, 1));
    for (k = 0; k < TREE_N_CLASSES; k++) printf("%c%s", 0, tree_classes[k]);
    return 0;
}
"""
    found = subprocess.run(
        [compiled(tree, tmp_path, driver)],
        input=b"".join(text.encode() + b"\0" for text in (*NASTY, "never met")),
        capture_output=True,
        check=True,
    )
    numbers, *classes = found.stdout.decode().split("\0")
    assert numbers.split() == [*(str(k) for k in range(len(NASTY))), "-1", "-1", "-1"]
    assert tuple(classes) == tree.classes


def test_numbers_and_booleans_are_found(tmp_path: Path) -> None:
    driver = """
#include <stdio.h>
#include "written_tree.c"
int main(void) {
    printf("%g %g %g %g %g", tree_category_of_number(4, 10), tree_category_of_number(4, 11),
        tree_category_of_number(5, 1), tree_category_of_number(3, 1), tree_category(4, "10"));
    printf(" %d", tree_predict((double[]){1, 2, 3, 0, 0, 0}));
    return 0;
}
"""
    done = subprocess.run(
        [compiled(random_tree(0), tmp_path, driver)], capture_output=True, check=True
    )
    assert done.stdout.split()[:5] == [b"3", b"-1", b"1", b"-1", b"-1"]


def test_what_c_cannot_hold_is_refused() -> None:
    tree = random_tree(5)
    with pytest.raises(InputError, match="expected names and categories that C can hold"):
        write(tree.replace(feature_names=("a", "b", "null\0", "d", "e", "f")))
    numbers = [None, None, None, ["a", "b", "c", "d", "e"], [1, 2, 3, 2**60], [False, True]]
    with pytest.raises(InputError, match=r"up to 2\*\*53 in feature 'size'"):
        write(tree.replace(categories=numbers))
    mixed = [None, None, None, ["a", "b", "c", "d", 5], [1, 2, 3, 4], [False, True]]
    with pytest.raises(InputError, match=r"one kind in feature 'colour'.*number and text"):
        write(tree.replace(categories=mixed))
    with pytest.raises(InputError, match="expected letters, digits and _ as name"):
        write(tree, name="a-b")


def test_the_functions_take_a_name() -> None:
    assert "int churn_predict(const double *x)" in write(random_tree(0), name="churn")
