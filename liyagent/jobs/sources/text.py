"""What is read becomes text: plain as it is, HTML without its tags; bounded."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser

from liyagent.core.plain import clean_text

# Of what is fetched, and of the text that is kept of it. A longer one is cut; PostgreSQL indexes no text without bound.
MOST_BYTES = 2 << 20
MOST_CHARACTERS = 200_000
LONGEST_TITLE = 300
SILENT = frozenset({"script", "style", "template", "noscript", "svg", "head"})
INLINE = frozenset({"a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "kbd", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "tt", "u", "var", "wbr"})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """What is kept of a document; `title` may be empty."""

    title: str
    text: str
    is_cut: bool = False


def text_of(content: bytes, *, is_html: bool, title: str = "") -> Text:
    """Return the text of what was fetched: UTF-8, what is not becomes U+FFFD. `title` where it names none itself."""
    raw = clean_text(content.decode("utf-8-sig", "replace"))
    if is_html:
        found_title, body = _from_html(raw)
    else:
        found_title, body = _first_heading(raw), raw
    return Text(
        title=" ".join((found_title or title).split())[:LONGEST_TITLE],
        text=body[:MOST_CHARACTERS],
        is_cut=len(body) > MOST_CHARACTERS,
    )


def _first_heading(raw: str) -> str:
    """The first line of a Markdown text, where it is a heading."""
    first = raw.lstrip()[:1000].partition("\n")[0]
    return first.lstrip("#").strip() if first.startswith("# ") else ""


def _from_html(raw: str) -> tuple[str, str]:
    reader = _Reader()
    # Never closed: what stands behind a tag or comment without an end is no text to a browser either, and looking for it
    # again and again is what makes this parser slow. The line end has the last reference in the text read.
    reader.feed(raw + "\n")
    lines = (" ".join(line.split()) for line in "".join(reader.parts).splitlines())
    return "".join(reader.title), "\n".join(line for line in lines if line)


class _Reader(HTMLParser):
    """Gathers the text between tags, a line for each block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.parts: list[str] = []
        self._silent = ""
        self._is_in_title = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._is_in_title = tag == "title"
        if not self._silent and tag in SILENT:
            self._silent = tag
        elif tag == "body":
            self._silent = ""
        if tag not in INLINE:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._is_in_title = False
        if tag == self._silent:
            self._silent = ""
        if tag not in INLINE:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._is_in_title:
            self.title.append(data)
        elif not self._silent:
            self.parts.append(data)
