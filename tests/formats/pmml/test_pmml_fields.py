"""Fields of a PMML model, through its schemas and references."""

from __future__ import annotations

import pytest

from steadytree.exceptions import TreeFormatError, UnsupportedModelError
from steadytree.formats.pmml.pmml_fields import Fields, first, parse_xml, read_value

DICTIONARY = (
    '<DataDictionary><DataField name="x" optype="continuous" dataType="integer"/>'
    '<DataField name="day" optype="continuous" dataType="date"/>'
    '<DataField name="c" optype="categorical" dataType="string"><Value value="a"/>'
    '<Value value="NA" property="missing"/><Value value="bad" property="invalid"/></DataField>'
    '<DataField name="y" optype="categorical" dataType="string"/></DataDictionary>'
)


def fields(mining: str, inner: str = "", derived: str = "") -> Fields:
    schema = '<MiningSchema><MiningField name="y" usageType="target"/>{}</MiningSchema>'
    root = parse_xml(
        f"<PMML>{DICTIONARY}<TransformationDictionary>{derived}</TransformationDictionary>"
        f"<MiningModel>{schema.format(mining)}<TreeModel>{schema.format(inner)}</TreeModel>"
        "</MiningModel></PMML>".encode()
    )
    outer = first(root, "MiningModel")
    return Fields(root, [outer, first(outer, "TreeModel")])


ALL = '<MiningField name="c"/><MiningField name="x"/><MiningField name="day"/>'


def test_active_fields_in_the_order_of_the_schema() -> None:
    found = fields(ALL)
    assert found.target == "y"
    assert found.names == ["c", "x"]
    c = found.field("c")
    assert (c.feature, c.numeric, c.listed, c.unseen_is_missing) == (0, False, True, True)
    assert found.categories == {0: {"a": 0}}
    assert found.code(c, "a") == 0
    assert found.code(c, "bad") is None
    with pytest.raises(UnsupportedModelError, match="got 'day' of type 'date'"):
        found.field("day")
    with pytest.raises(TreeFormatError, match="got 'nothing'"):
        found.field("nothing")


def test_values_that_count_as_missing_need_others_to_do_so_too() -> None:
    with pytest.raises(UnsupportedModelError, match="got some that count as missing, told from"):
        fields('<MiningField name="c" invalidValueTreatment="asIs"/>')


def test_references() -> None:
    derived = (
        '<DerivedField name="a" dataType="double"><FieldRef field="x"/></DerivedField>'
        '<DerivedField name="b" dataType="float"><FieldRef field="a"/></DerivedField>'
        '<DerivedField name="d" dataType="double"><Apply/></DerivedField>'
        '<DerivedField name="m" dataType="double"><FieldRef field="x" mapMissingTo="0"/>'
        "</DerivedField>"
    )
    found = fields(ALL, derived=derived)
    assert found.field("b").feature == found.field("a").feature == 1
    assert found.field("b").single
    assert not found.field("a").single
    for name, how in (("d", "Apply"), ("m", "FieldRef")):
        with pytest.raises(
            UnsupportedModelError, match=f"the derived field '{name}' made by {how}"
        ):
            found.field(name)


def test_inner_schemas_must_agree() -> None:
    both = '<MiningField name="x" missingValueReplacement="3"/>'
    assert fields(both, both).field("x").imputed == 3
    with pytest.raises(UnsupportedModelError, match="treated alike in all models"):
        fields('<MiningField name="x"/>', both)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("a", "string", "a"),
        ("TRUE", "boolean", True),
        ("3.0", "integer", 3),
        ("0.1", "double", 0.1),
    ],
)
def test_values(text: str, kind: str, value: object) -> None:
    found = read_value(text, kind, "x")
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(("text", "kind"), [("x", "double"), ("nan", "double"), ("2", "boolean")])
def test_values_that_are_none(text: str, kind: str) -> None:
    with pytest.raises(TreeFormatError, match=f"expected a value of type {kind} for x"):
        read_value(text, kind, "x")
