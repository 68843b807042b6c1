"""Any value made storable plain JSON, once, where it enters (ruling 19)."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import PurePath
from typing import Any
from uuid import UUID

import orjson

from liyagent.core.canonical import canonical
from liyagent.core.errors import LiyagentError

MOST_DEPTH = 100
# Where no limit is named: above any tool's, and low enough that a value sharing its parts cannot fill memory.
MOST_BYTES = 64 << 20
# CPython converts no longer integer to text by default; a longer one could be stored but never shown.
MOST_DIGITS = 4300
INTEGER_BOUND = 10**MOST_DIGITS
INTEGER_TOO_LONG = f"an integer of more than {MOST_DIGITS} digits"

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
AS_TEXT = (UUID, Decimal, Fraction, PurePath, IPv4Address, IPv6Address, IPv4Network, IPv6Network)


class NotStorable(LiyagentError):
    """This value cannot be stored."""

    code = "plain.not_storable"


class NotPlain(NotStorable):
    """This value is of a type that has no plain JSON form."""

    code = "plain.type"


class TooDeep(NotStorable):
    """This value is nested too deeply."""

    code = "plain.depth"


class TooLarge(NotStorable):
    """This value is larger than its limit."""

    code = "plain.size"


class NotJson(NotStorable):
    """This text is not JSON."""

    code = "plain.json"


def clean_text(text: str) -> str:
    """Return `text` with U+0000 and lone surrogates as U+FFFD; two halves of a pair are joined."""
    if UNSTORABLE.search(text) is None:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", "\ufffd")


def to_plain(value: Any, *, limit_bytes: int | None = None, max_depth: int = MOST_DEPTH) -> Any:
    """Return `value` as plain JSON that PostgreSQL, a seal and a hash take alike.

    Integers keep every digit. NaN and infinities become "NaN", "Infinity", "-Infinity"; bytes base64;
    dates, times and durations ISO 8601; sets sorted lists; decimals, UUIDs, fractions, paths, addresses
    and ranges their text; enums their value; dataclasses and pydantic models objects (by their alias).
    Raises `NotPlain` naming the type, `TooDeep` beyond `max_depth` containers within each other,
    `TooLarge` where the compact JSON has more than `limit_bytes` bytes.
    """
    limit = MOST_BYTES if limit_bytes is None else limit_bytes
    plain = _Walk(limit, max_depth).plain(value, 0)
    if limit_bytes is not None and len(json_bytes(plain)) > limit_bytes:
        raise TooLarge(f"larger than {limit_bytes} bytes")
    return plain


def parse_json(
    text: str | bytes, *, limit_bytes: int | None = None, max_depth: int = MOST_DEPTH
) -> Any:
    """Return JSON text as plain JSON; of a repeated key the last counts, NaN and Infinity are let in.

    Bytes are UTF-8; what is not becomes U+FFFD. Raises `NotJson` or what `to_plain` raises, nothing else.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig", "replace")
    try:
        parsed = json.loads(text, parse_int=_integer)
    except RecursionError:
        raise TooDeep(f"nested deeper than {max_depth}") from None
    except ValueError as error:
        raise NotJson(f"not JSON: {error}") from None
    return to_plain(parsed, limit_bytes=limit_bytes, max_depth=max_depth)


def json_bytes(plain: Any) -> bytes:
    """Return plain JSON as compact UTF-8, keys in their own order; integers of any size in full digits.

    Read it back with `json.loads` or `parse_json`: orjson would make floats of integers beyond 64 bits.
    """
    try:
        return orjson.dumps(plain)
    except orjson.JSONEncodeError:
        return json.dumps(
            plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise TooLarge(INTEGER_TOO_LONG)
    return int(digits)


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


class _Walk:
    """One pass over a value, counting a lower bound of its size so that it stops early."""

    __slots__ = ("left", "limit", "max_depth")

    def __init__(self, limit: int, max_depth: int) -> None:
        self.limit = limit
        self.left = limit
        self.max_depth = max_depth

    def plain(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            self._spend(len(value) + 2)
            return clean_text(value)
        self._spend(1)
        if kind is bool or value is None:
            return value
        if kind is int:
            return self._whole(value)
        if kind is float:
            return _number(value)
        if depth >= self.max_depth and not isinstance(value, SCALARS):
            raise TooDeep(f"nested deeper than {self.max_depth}")
        if kind is dict:
            return self._object(value.items(), depth)
        if kind is list:
            return self._array(value, depth)
        return self._other(value, depth)

    def _object(self, items: Any, depth: int) -> dict[str, Any]:
        return {self._key(key): self.plain(item, depth + 1) for key, item in items}

    def _array(self, items: Any, depth: int) -> list[Any]:
        return [self.plain(item, depth + 1) for item in items]

    def _key(self, key: Any) -> str:
        """JSON's own spelling for true, 1 and null as a key; any other key by its text form."""
        if type(key) is str:
            self._spend(len(key) + 3)
            return clean_text(key)
        if key is not None and not isinstance(key, SCALARS):
            raise NotPlain(f"{_type_name(key)} cannot be the name of a value")
        plain = self.plain(key, self.max_depth)
        return plain if isinstance(plain, str) else json.dumps(plain)

    def _other(self, value: Any, depth: int) -> Any:
        for kinds, convert in CONVERSIONS:
            if isinstance(value, kinds):
                return convert(self, value, depth)
        fields = _fields(value)
        if fields is None:
            raise NotPlain(f"{_type_name(value)} has no plain JSON form")
        return self._object(fields, depth)

    def _set(self, value: AbstractSet[Any], depth: int) -> list[Any]:
        # A set has no order of its own, and what is hashed must not depend on the process.
        return sorted(self._array(value, depth), key=canonical)

    def _text(self, text: str) -> str:
        self._spend(len(text))
        return clean_text(text)

    def _whole(self, value: int) -> int:
        if not -INTEGER_BOUND < value < INTEGER_BOUND:
            raise TooLarge(INTEGER_TOO_LONG)
        self._spend(value.bit_length() // 5)
        return value

    def _spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise TooLarge(f"larger than {self.limit} bytes")


def _duration(value: timedelta) -> str:
    """ISO 8601 as Django writes it, which this module does without: what is pure stands on it."""
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    part = f".{value.microseconds:06d}" if value.microseconds else ""
    return f"{sign}P{value.days}DT{hours:02d}H{minutes:02d}M{seconds:02d}{part}S"


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _fields(value: Any) -> Iterator[tuple[str, Any]] | None:
    """Name and value of each field of a dataclass or pydantic model; shallow, so that depth stays bounded."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    # Known by its shape: pydantic is slow to import and only some processes ever see a model of it.
    declared = getattr(type(value), "model_fields", None)
    if not isinstance(declared, dict):
        return None
    aliases = {
        name: field.serialization_alias or field.alias or name for name, field in declared.items()
    }
    return ((aliases.get(name, name), item) for name, item in value)


Convert = Callable[[_Walk, Any, int], Any]

# Asked in this order: an enum may be text or a number too, a datetime is a date.
SCALAR_CONVERSIONS: tuple[tuple[tuple[type, ...], Convert], ...] = (
    ((Enum,), lambda walk, value, depth: walk.plain(value.value, depth)),
    ((str,), lambda walk, value, _: walk._text(str.__str__(value))),
    ((int,), lambda walk, value, _: walk._whole(int(value))),
    ((float,), lambda _walk, value, _: _number(float(value))),
    ((datetime, date, time), lambda walk, value, _: walk._text(value.isoformat())),
    ((timedelta,), lambda walk, value, _: walk._text(_duration(value))),
    (
        (bytes, bytearray, memoryview),
        lambda walk, value, _: walk._text(base64.b64encode(bytes(value)).decode()),
    ),
    (AS_TEXT, lambda walk, value, _: walk._text(str(value))),
    ((range,), lambda walk, value, _: walk._text(repr(value))),
)
CONVERSIONS: tuple[tuple[tuple[type, ...], Convert], ...] = (
    *SCALAR_CONVERSIONS,
    ((AbstractSet,), lambda walk, value, depth: walk._set(value, depth)),
    ((Mapping,), lambda walk, value, depth: walk._object(value.items(), depth)),
    ((list, tuple, deque), lambda walk, value, depth: walk._array(value, depth)),
)
SCALARS = tuple(kind for kinds, _ in SCALAR_CONVERSIONS for kind in kinds)
