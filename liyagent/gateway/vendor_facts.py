"""What vendors document of how a write is keyed or found again, from `vendor_facts.yaml`. Facts propose, never act (FL-08)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from liyagent.core.errors import BadInput, NotFound
from liyagent.core.files import parse_yaml, read_text

FILE = Path(__file__).with_name("vendor_facts.yaml")
NONE = "none documented"
WRITE = {"write", "tool", "key", "reader", "says", "decided", "uncertain", "sources"}
OPTIONAL = {"decided"}
MOST_WINDOW = 366 * 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFact:
    """The field that takes a key, for how many seconds the vendor dedupes on it (0: it stores it), how long it may be."""

    field: str
    window: int
    longest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderFact:
    """A read by the key: words of a tool's name, any of which will do; its arguments; where in its result the key stands."""

    tool: tuple[str, ...]
    args: Mapping[str, Any]
    match: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A document of the vendor, and the day it was read."""

    url: str
    read: date


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFact:
    """What is documented of one kind of write. `tool`: all these words stand in the name of a tool that makes it.

    `key` and `reader` are None where nothing is documented.
    """

    write: str
    tool: tuple[str, ...]
    key: KeyFact | None
    reader: ReaderFact | None
    says: str
    decided: str
    uncertain: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorFacts:
    """One vendor."""

    vendor: str
    name: str
    writes: tuple[WriteFact, ...]


@cache
def vendor_facts() -> Mapping[str, VendorFacts]:
    """Return all vendors by the key that a server's `vendor` names. Raises `BadInput` for a file that cannot be read."""
    return read_facts(parse_yaml(read_text(FILE)))


def facts_of(vendor: str) -> VendorFacts:
    """Return one vendor's facts. Raises `NotFound` that names those there are."""
    found = vendor_facts().get(vendor)
    if found is None:
        raise NotFound(f"nothing is known of a vendor {vendor[:80]!r}; {known_vendors()}")
    return found


def known_vendors() -> str:
    """Say which vendors there are."""
    return f"it wants one of {', '.join(vendor_facts())}"


def read_facts(document: Any) -> dict[str, VendorFacts]:
    """Return what a parsed file says. Raises `BadInput` with the path of what is wrong and what is wanted there."""
    vendors = _object(document, "the file", {"vendors"})["vendors"]
    if not isinstance(vendors, dict) or not vendors:
        raise BadInput("vendors: wants an object of at least one vendor")
    return {key: _vendor(key, value, f"vendors.{key}") for key, value in vendors.items()}


def _vendor(key: str, value: Any, path: str) -> VendorFacts:
    written = _object(value, path, {"name", "writes"})
    writes = _list(written["writes"], f"{path}.writes")
    return VendorFacts(
        vendor=key,
        name=_text(written["name"], f"{path}.name"),
        writes=tuple(_write(it, f"{path}.writes[{index}]") for index, it in enumerate(writes)),
    )


def _write(value: Any, path: str) -> WriteFact:
    written = _object(value, path, WRITE, optional=OPTIONAL)
    sources = _list(written["sources"], f"{path}.sources")
    key, reader = written["key"], written["reader"]
    return WriteFact(
        write=_text(written["write"], f"{path}.write"),
        tool=_words(written["tool"], f"{path}.tool"),
        key=None if key == NONE else _key(key, f"{path}.key"),
        reader=None if reader == NONE else _reader(reader, f"{path}.reader"),
        says=_text(written["says"], f"{path}.says"),
        decided=_text(written["decided"], f"{path}.decided") if "decided" in written else "",
        uncertain=_text(written["uncertain"], f"{path}.uncertain"),
        sources=tuple(
            _source(source, f"{path}.sources[{index}]") for index, source in enumerate(sources)
        ),
    )


def _key(value: Any, path: str) -> KeyFact:
    written = _object(value, path, {"field", "window", "longest"}, optional={"longest"})
    return KeyFact(
        field=_text(written["field"], f"{path}.field"),
        window=_whole(written["window"], f"{path}.window"),
        longest=_whole(written.get("longest", 0), f"{path}.longest"),
    )


def _reader(value: Any, path: str) -> ReaderFact:
    written = _object(value, path, {"tool", "args", "match"})
    if not isinstance(written["args"], dict):
        raise BadInput(f"{path}.args: wants an object of arguments")
    match = _object(written["match"], f"{path}.match", {"records", "field"})
    return ReaderFact(
        tool=_words(written["tool"], f"{path}.tool"), args=written["args"], match=match
    )


def _source(value: Any, path: str) -> Source:
    written = _object(value, path, {"url", "read"})
    url = _text(written["url"], f"{path}.url")
    if urlsplit(url).scheme != "https" or not urlsplit(url).hostname:
        raise BadInput(f"{path}.url: is {url!r}; it wants https://host/...")
    return Source(url=url, read=_day(written["read"], f"{path}.read"))


def _day(value: Any, path: str) -> date:
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise BadInput(f"{path}: is {value!r}; it wants a day such as 2026-11-29") from None


def _object(
    value: Any, path: str, names: set[str], *, optional: set[str] | frozenset[str] = frozenset()
) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{path}: wants an object with {', '.join(sorted(names))}")
    for name in value:
        if name not in names:
            raise BadInput(f"{path}: does not know {name!r}; it wants {', '.join(sorted(names))}")
    for name in sorted(names - optional):
        if name not in value:
            raise BadInput(f"{path}.{name}: is missing")
    return value


def _list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise BadInput(f"{path}: wants a list of at least one")
    return value


def _words(value: Any, path: str) -> tuple[str, ...]:
    return tuple(
        _text(word, f"{path}[{index}]").lower() for index, word in enumerate(_list(value, path))
    )


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{path}: is {value!r}; it wants text")
    return " ".join(value.split())


def _whole(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_WINDOW:
        raise BadInput(f"{path}: is {value!r}; it wants a whole number from 0 to {MOST_WINDOW}")
    return int(value)
