"""A page of HTML as plain text: headings, paragraphs and list items on lines of their own, links with their targets."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

__all__ = ["page_text"]

_HIDDEN = frozenset({"script", "style", "noscript", "template", "svg", "head"})
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "br",
        "dd",
        "div",
        "dl",
        "dt",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "tbody",
        "thead",
        "tr",
        "ul",
    ]
)
_KEPT_BLANK = "\ue000"
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}


def page_text(html: str, address: str) -> str:
    """The text of a page. Any text can be given; what is no HTML comes back as it is.

    Args:
        html: The page.
        address: Its own, which the links in it are relative to.
    """
    reader = _Reader(address)
    try:
        reader.feed(html)
        reader.close()
    except (AssertionError, ValueError):  # the standard library's parser gives up on some broken declarations
        return html
    lines = "\n".join(line.strip() for line in "".join(reader.out).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip().replace(_KEPT_BLANK, " ")


class _Reader(HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self._address = address
        self._hidden = 0
        self._verbatim = 0
        self._targets: list[str] = []
        self.out: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        if tag == "body":
            self._hidden = 0  # a head that nobody closed
        if tag in _BLOCKS:
            self.out.append("\n")
        if tag == "pre":
            self._verbatim += 1
        if tag == "li":
            self.out.append("- ")
        self.out.append(_HEADINGS.get(tag, ""))
        if tag in ("td", "th"):
            self.out.append(" | ")
        if tag == "a":
            self._targets.append(dict(attrs).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        if tag == "pre":
            self._verbatim = max(0, self._verbatim - 1)
        if tag in _BLOCKS:
            self.out.append("\n")
        if tag == "a" and self._targets:
            self._say_target(self._targets.pop())

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.out.append(data.replace(" ", _KEPT_BLANK) if self._verbatim else re.sub(r"\s+", " ", data))

    def _say_target(self, target: str) -> None:
        try:
            whole = urljoin(self._address, target.strip())
        except ValueError:
            return
        if whole.startswith(("http://", "https://")) and not target.startswith("#") and not self._hidden:
            self.out.append(f" ({whole})")
