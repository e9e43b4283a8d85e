"""A page taken apart as a browser would."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """Tags, attributes and texts of a page, as a browser would meet them."""

    VOID = ("meta", "input", "br", "link", "img", "hr")

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, str] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"closing tag {tag} without an opening one"
        assert self.open[-1] == tag, f"{self.open[-1]} is closed by {tag}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        where = self.open[-1] if self.open else ""
        self.texts[where] = self.texts.get(where, "") + data
