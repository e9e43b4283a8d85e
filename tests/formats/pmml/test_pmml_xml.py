"""XML of a stranger: plain elements, or our own error."""

from __future__ import annotations

import pytest

from steadytree.exceptions import TreeFormatError
from steadytree.formats.pmml import pmml_fields as pmml_xml
from steadytree.formats.pmml.pmml_fields import children, first, number, parse_xml, tag


def test_names_come_without_their_namespace() -> None:
    root = parse_xml(b'<a:A xmlns:a="http://a"><a:B n="2"/><!-- c --><C/><a:B/></a:A>')
    assert tag(root) == "A"
    assert [tag(e) for e in root] == ["B", "C", "B"]
    assert len(list(children(root, "B"))) == 2
    assert first(root, "B").get("n") == "2"
    assert first(root, "D") is None


def test_numbers() -> None:
    root = parse_xml(b'<A n="2.5" bad="x" far="inf"/>')
    assert number(root, "n") == 2.5
    assert number(root, "none", 7.0) == 7.0
    for name in ("bad", "far"):
        with pytest.raises(TreeFormatError, match=f"expected a number as {name} of A"):
            number(root, name)


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pmml_xml, "MAX_ELEMENTS", 10)
    monkeypatch.setattr(pmml_xml, "MAX_NESTING", 5)
    assert tag(parse_xml(b"<A>" + b"<B/>" * 9 + b"</A>")) == "A"
    for text in (b"<A>" + b"<B/>" * 10 + b"</A>", b"<A>" * 6 + b"</A>" * 6):
        with pytest.raises(TreeFormatError, match="expected at most 10 elements on 5 levels"):
            parse_xml(text)


@pytest.mark.parametrize(
    "text", [b"", b"<A>", b"<A/><B/>", b"\xff", b"<A>\x00</A>", b"<A b='&c;'/>"]
)
def test_what_is_no_xml(text: bytes) -> None:
    with pytest.raises(TreeFormatError, match="expected"):
        parse_xml(text)
