"""The one canonical form of plain JSON, for everything that is hashed, signed or compared (ruling 24)."""

from __future__ import annotations

import hashlib
from json.encoder import encode_basestring
from typing import Any

import orjson
import rfc8785

from liyagent.core.errors import LiyagentError

SAFE_INTEGER = 2**53 - 1
# Stored values are at most 100 deep; envelopes around them add a few.
MOST_DEPTH = 200
LISTS = (list, tuple)
FAST_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
FIRST_BEYOND_BMP = "\U00010000"


class NotCanonical(LiyagentError):
    """This value has no canonical form; it wants plain JSON (`core.plain.to_plain`)."""

    code = "canonical.impossible"


def canonical(value: Any) -> bytes:
    """Return RFC 8785 of plain JSON, except that integers beyond 2^53-1 are written in full digits.

    Raises `NotCanonical` for NaN, infinities, lone surrogates, keys that are no text, other types,
    and values nested deeper than 200.
    """
    try:
        # Where keys stay in the BMP and no float occurs, orjson writes the same bytes ten times faster.
        if _is_simple(value, MOST_DEPTH):
            return orjson.dumps(value, option=FAST_OPTIONS)
        out: list[str] = []
        _write(value, MOST_DEPTH, out)
        return "".join(out).encode()
    except (orjson.JSONEncodeError, rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise NotCanonical(f"no canonical form: {error}") from None


def digest(parts: Any) -> str:
    """Return the hex SHA-256 of the canonical form. Raises `NotCanonical`."""
    return hashlib.sha256(canonical(parts)).hexdigest()


def _is_simple(value: Any, depth: int) -> bool:
    """Say whether orjson's sorted form is RFC 8785; exact types only, so that no subclass slips by."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return bool(-SAFE_INTEGER <= value <= SAFE_INTEGER)
    if depth <= 0:
        return False
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not (key.isascii() or max(key) < FIRST_BEYOND_BMP):
                return False
            if type(item) is not str and not _is_simple(item, depth - 1):
                return False
        return True
    if kind is not list:
        return False
    return all(_is_simple(item, depth - 1) for item in value)


def _write(value: Any, depth: int, out: list[str]) -> None:
    if isinstance(value, str):
        out.append(_text(value))
    elif isinstance(value, int) and not isinstance(value, bool):
        out.append(_digits(int(value)))
    elif isinstance(value, dict):
        _write_object(value, _one_less(depth), out)
    elif isinstance(value, LISTS):
        _write_array(value, _one_less(depth), out)
    else:
        out.append(_float(value) if type(value) is float else rfc8785.dumps(value).decode())


def _write_object(value: dict[Any, Any], depth: int, out: list[str]) -> None:
    if not all(isinstance(key, str) for key in value):
        raise NotCanonical("no canonical form: object keys must be text")
    start = "{"
    for key in sorted(value, key=_utf16):
        out += (start, _text(key), ":")
        _write(value[key], depth, out)
        start = ","
    out.append("{}" if start == "{" else "}")


def _write_array(value: list[Any] | tuple[Any, ...], depth: int, out: list[str]) -> None:
    out.append("[")
    for index, item in enumerate(value):
        if index:
            out.append(",")
        _write(item, depth, out)
    out.append("]")


def _utf16(name: str) -> bytes:
    """RFC 8785 sorts by UTF-16 code units, which differs from code points beyond the BMP."""
    return name.encode("utf-16be", "surrogatepass")


def _text(value: str) -> str:
    return encode_basestring(value if type(value) is str else str.__str__(value))


def _float(value: float) -> str:
    """Python and ECMAScript write the same shortest digits; they differ in exponents, `.0` and `-0`."""
    text = repr(value)
    if value == 0 or not text.lstrip("-")[0].isdigit() or "e" in text:
        return rfc8785.dumps(value).decode()
    return text.removesuffix(".0")


def _one_less(depth: int) -> int:
    if depth <= 0:
        raise NotCanonical(f"no canonical form: nested deeper than {MOST_DEPTH}")
    return depth - 1


def _digits(number: int) -> str:
    try:
        return str(number)
    except ValueError:
        raise NotCanonical("no canonical form: an integer of more than 4,300 digits") from None
