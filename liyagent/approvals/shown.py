"""What a page shows of a call's arguments: a line for each value, nothing in it hidden, nothing cut in silence."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from liyagent.core.tables import INVISIBLE

# Of a longer value the beginning and the end are shown, and how much lies between.
LONGEST_VALUE, BEGINNING, END = 1_000, 800, 200
LONGEST_PATH = 300
LINES_A_PAGE = 100
# So many characters of one text are shown at once, where it is opened to be read whole.
PART = 20_000
# From so many on, what is blank is counted instead of shown: it pushes what follows out of sight.
MANY_SPACES, MANY_LINES = 40, 10
MOST_WARNINGS = 12
MOST_PATHS = 3

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
SPACES = re.compile(f"( {{{MANY_SPACES},}})")
WORD = re.compile(r"(\w+)")
# Each word of these is shown on its own, so that words stand in the order in which they are sent.
FROM_RIGHT = re.compile(
    "([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]+)"
)
NAMES = {"\x00": "NULL", "\x07": "BELL", "\x08": "BACKSPACE", "\r": "CARRIAGE RETURN", "\x1b": "ESCAPE", "\x7f": "DELETE"}  # fmt: skip
WHITE = {"\n": "↵", "\t": "⇥"}
TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
ALIKE = ("LATIN", "CYRILLIC", "GREEK")

Show = Callable[[str], SafeString]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One value, and where in the arguments it stands, such as `fields.labels[0]`."""

    path: str
    value: Any

    @property
    def text(self) -> str:
        """The value as it is sent: a text as it is, anything else as JSON."""
        return self.value if isinstance(self.value, str) else json.dumps(self.value)

    @property
    def kind(self) -> str:
        """What it is, in words, and how long a text is."""
        if isinstance(self.value, str):
            return f"text, {counted(len(self.value), 'character')}"
        if isinstance(self.value, bool):
            return "true or false"
        if isinstance(self.value, int | float):
            return "number"
        if isinstance(self.value, dict):
            return "an empty object"
        return "an empty list" if isinstance(self.value, list) else "nothing"


def counted(number: int, what: str) -> str:
    """Return a number with what it counts, such as `1,200 characters`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def lines_of(args: Mapping[str, Any]) -> list[Line]:
    """Return a line for each value of the arguments, in their order. No path can be read as another's."""
    return [it for name, value in args.items() for it in _lines(_named("", name), value)]


def raw_json(args: Mapping[str, Any]) -> str:
    """Return the arguments as JSON in ASCII alone: what is no plain letter is written as its number."""
    return json.dumps(args, indent=2, ensure_ascii=True)


def is_odd(letter: str) -> bool:
    """Whether a letter is not seen as what it is: it controls, turns the direction, or has no width of its own."""
    return letter != " " and (not letter.isprintable() or letter in INVISIBLE)


def marked(text: str) -> SafeString:
    """Return text with each odd letter written out, escaped, and coloured so that no text can imitate it."""
    pieces: list[SafeString] = []
    for odd, letters in groupby(text, key=lambda it: it if is_odd(it) else ""):
        run = "".join(letters)
        pieces.append(_odd(odd, len(run)) if odd else _plain(run))
    return format_html_join("", "{}", ((it,) for it in pieces))


def shortened(text: str) -> tuple[SafeString, int]:
    """Return a value as a line shows it, and how many of its characters that leaves out."""
    if len(text) <= LONGEST_VALUE:
        return marked(text), 0
    left_out = len(text) - BEGINNING - END
    gap = format_html(
        '<span class="liy-char liy-odd">⟨{} not shown here⟩</span>', counted(left_out, "character")
    )
    return format_html("{}\n{}\n{}", marked(text[:BEGINNING]), gap, marked(text[-END:])), left_out


def shown_path(path: str) -> SafeString:
    """Return a path; of a long one the beginning, and that it is cut."""
    if len(path) <= LONGEST_PATH:
        return marked(path)
    cut = f"⟨the first {LONGEST_PATH} of {counted(len(path), 'character')}⟩"
    return format_html(
        '{} <span class="liy-char liy-odd">{}</span>', marked(path[:LONGEST_PATH]), cut
    )


def part_of(text: str, number: int) -> tuple[str, int, int]:
    """Return a part of a long text, the nearest there is to `number`, with its number and how many there are."""
    parts = max(1, -(-len(text) // PART))
    number = min(max(number, 1), parts)
    return text[(number - 1) * PART : number * PART], number, parts


def warnings_of(lines: list[Line]) -> list[str]:
    """Say what in the arguments is not as it looks: odd letters, gaps, other directions, alphabets that look alike."""
    found: dict[str, tuple[int, list[str]]] = {}
    for line in lines:
        for told, number in _odd_things(f"{line.path}\n{line.text}").items():
            count, paths = found.get(told, (0, []))
            found[told] = (count + number, [*paths, line.path][:MOST_PATHS])
    warnings = [
        f"{told}: {counted(number, 'time')}, in {', '.join(_short(it) for it in paths)}"
        for told, (number, paths) in found.items()
    ]
    more = len(warnings) - MOST_WARNINGS
    return [*warnings[:MOST_WARNINGS], *([f"and {more} more of such kinds"] if more > 0 else [])]


def _lines(path: str, value: Any) -> Iterator[Line]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _lines(_named(path, name), item)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _lines(f"{path}[{number}]", item)
    else:
        yield Line(path=path, value=value)


def _named(path: str, name: str) -> str:
    if PLAIN_NAME.fullmatch(name):
        return f"{path}.{name}" if path else name
    return f"{path}[{json.dumps(name, ensure_ascii=False)}]"


def _plain(text: str) -> SafeString:
    return _by_turns(SPACES, text, lambda it: _gap(len(it)), _in_order)


def _in_order(text: str) -> SafeString:
    return _by_turns(FROM_RIGHT, text, lambda it: format_html("<bdi>{}</bdi>", it), _by_alphabet)


def _by_alphabet(text: str) -> SafeString:
    if text.isascii():
        return format_html("{}", text)
    return _by_turns(WORD, text, _word, lambda it: format_html("{}", it))


def _word(word: str) -> SafeString:
    """Of a word whose letters look alike in several alphabets, those that are not Latin are written out, too."""
    if not _is_mixed(word):
        return format_html("{}", word)
    return format_html_join(
        "",
        "{}{}",
        ((it, "") if it.isascii() else (it, _number_of(it, title=_name(it))) for it in word),
    )


def _number_of(letter: str, *, title: str) -> SafeString:
    return format_html(
        '<span class="liy-char liy-odd" title="{}">⟨U+{}⟩</span>', title, f"{ord(letter):04X}"
    )


def _gap(spaces: int) -> SafeString:
    return format_html('<span class="liy-char liy-odd">⟨{} spaces⟩</span>', f"{spaces:,}")


def _by_turns(pattern: re.Pattern[str], text: str, found: Show, between: Show) -> SafeString:
    """Show what a pattern with one group finds in one way, and what lies between in another."""
    pieces = pattern.split(text)
    shown = (((found if at % 2 else between)(it),) for at, it in enumerate(pieces))
    return format_html_join("", "{}", shown)


def _odd(letter: str, number: int) -> SafeString:
    if letter in WHITE and number < MANY_LINES:
        return format_html_join(
            "", '<span class="liy-char">{}</span>{}', [(WHITE[letter], letter)] * number
        )
    many = f" {number:,} times" if number > 1 else ""
    return format_html(
        '<span class="liy-char liy-odd" title="{}">⟨{}{}⟩</span>{}',
        _name(letter), f"U+{ord(letter):04X}", many, "\n" if letter == "\n" else "",
    )  # fmt: skip


def _name(letter: str) -> str:
    return NAMES[letter] if letter in NAMES else unicodedata.name(letter, "a control character")


def _odd_things(text: str) -> dict[str, int]:
    """What is odd in one line, in words, with how often it is."""
    if text.isascii() and text.replace("\n", "").isprintable() and " " * MANY_SPACES not in text:
        return {"a gap of many lines": 1} if "\n" * MANY_LINES in text else {}
    letters = Counter(text)
    told = {
        _in_words(it): number for it, number in letters.items() if is_odd(it) and it not in "\n\t"
    }
    gaps = sum(1 for it in SPACES.findall(text) if it)
    if gaps:
        told["a gap of many spaces"] = gaps
    if "\n" * MANY_LINES in text:
        told["a gap of many lines"] = 1
    if any(unicodedata.bidirectional(it) in {"R", "AL"} for it in letters if it.isprintable()):
        told[
            "letters that are written from right to left; word by word they stand in the order they are sent in"
        ] = 1
    mixed = [it for it in WORD.findall(text) if _is_mixed(it)] if _is_mixed("".join(letters)) else []  # fmt: skip
    if mixed:
        first = json.dumps(mixed[0][:40])
        told[f"words of letters that look alike in several alphabets, the first is {first}"] = len(
            mixed
        )
    return told


def _in_words(letter: str) -> str:
    what = "turns the direction of the text after it" if letter in TURNS else "is not seen"
    return f"⟨U+{ord(letter):04X}⟩ {_name(letter)}, which {what}"


def _is_mixed(word: str) -> bool:
    if word.isascii():
        return False
    scripts = {unicodedata.name(it, "").partition(" ")[0] for it in word if it.isalpha()}
    return len(scripts.intersection(ALIKE)) > 1


def _short(path: str) -> str:
    told = "".join(f"⟨U+{ord(it):04X}⟩" if is_odd(it) else it for it in path[:60])
    return told if len(path) <= 60 else f"{told}…"
