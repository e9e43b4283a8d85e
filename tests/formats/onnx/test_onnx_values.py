"""Attributes and tensors of ONNX as plain values, and what is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from steadytree.exceptions import TreeFormatError, UnsupportedModelError
from steadytree.formats.onnx.onnx_trees import (
    DOUBLE,
    FLOAT,
    INT64,
    array,
    attributes,
    encoder_codes,
    plain,
)


def test_attributes_of_every_kind() -> None:
    given = {"f": 0.5, "i": 3, "s": "é", "fs": [1.5, 2.0], "ints": [1, 2], "texts": ["a", "b"]}
    tensor = numpy_helper.from_array(np.array([1.0, np.inf]))
    found = attributes(helper.make_node("Any", [], [], t=tensor, **given))
    assert found.pop("t").tolist() == [1.0, np.inf]
    assert found == given


def test_text_that_is_none() -> None:
    node = helper.make_node("Any", [], [], s=b"\xff\xfe")
    with pytest.raises(TreeFormatError, match="expected text in UTF-8"):
        attributes(node)
    with pytest.raises(TreeFormatError, match="expected text in UTF-8"):
        plain(b"\xff")


def test_a_tensor_that_does_not_fit_its_shape() -> None:
    tensor = TensorProto(data_type=TensorProto.FLOAT, dims=[10**9], raw_data=b"\x00" * 8)
    with pytest.raises(TreeFormatError, match="expected a tensor"):
        array(tensor)


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ({"classes_strings": ["a", "b"]}, (["a", "b"], [0, 1], -1.0, INT64)),
        ({"keys_strings": ["a"], "values_floats": [2.0]}, (["a"], [2.0], 0.0, FLOAT)),
        (
            {"keys_int64s": [5], "values_int64s": [2], "default_int64": 9},
            ([5], [2], 9.0, INT64),
        ),
        (
            {
                "keys_tensor": np.array([1.0]),
                "values_tensor": np.array([2.0]),
                "default_tensor": np.array([3.0]),
            },
            ([1.0], [2.0], 3.0, DOUBLE),
        ),
    ],
)
def test_every_version_of_the_encoder(given: dict[str, Any], codes: Any) -> None:
    assert encoder_codes(given) == codes


def test_an_encoder_to_text_is_refused() -> None:
    for given in (
        {"keys_int64s": [1], "values_strings": ["a"]},
        {"keys_tensor": np.array([1]), "values_tensor": np.array(["a"], dtype=object)},
    ):
        with pytest.raises(UnsupportedModelError, match="LabelEncoder to other than numbers"):
            encoder_codes(given)
