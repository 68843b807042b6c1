"""Mutants of packs: bytes turned, cut, doubled and moved; lines dropped and exchanged; values changed with the form kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import orjson

from liyagent.core.canonical import canonical

Lines = list[bytes]
HEX = "0123456789abcdef"


def mutant(random: Random, packs: Sequence[Lines]) -> bytes:
    """Return a pack with one to three things done to it, in bytes."""
    lines = list(random.choice(packs))
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        lines = random.choice(WAYS)(random, lines, packs) if any(lines) else lines
    return b"".join(lines)


def turn_bit(random: Random, lines: Lines, _packs: Sequence[Lines]) -> Lines:
    data = bytearray(b"".join(lines))
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return [bytes(data)]


def put_byte(random: Random, lines: Lines, _packs: Sequence[Lines]) -> Lines:
    data = b"".join(lines)
    at = random.randrange(len(data))
    piece = random.choice(
        (b"", b" ", b"\n", b"0", b"\x00", b"\\u0000", b"-", b"e9", b"9" * 40, b"\xff", b"[" * 5000)
    )
    return [data[:at] + piece + data[at + random.randrange(2) :]]


def cut(random: Random, lines: Lines, _packs: Sequence[Lines]) -> Lines:
    data = b"".join(lines)
    at, to = sorted(random.randrange(len(data) + 1) for _ in range(2))
    return [random.choice((data[:at], data[at:], data[:at] + data[to:], data[:to] + data[at:]))]


def drop_line(random: Random, lines: Lines, _packs: Sequence[Lines]) -> Lines:
    at = random.randrange(len(lines))
    return [*lines[:at], *lines[at + 1 :]]


def double_line(random: Random, lines: Lines, _packs: Sequence[Lines]) -> Lines:
    at, to = random.randrange(len(lines)), random.randrange(len(lines) + 1)
    return [*lines[:to], lines[at], *lines[to:]]


def swap_lines(random: Random, lines: Lines, _packs: Sequence[Lines]) -> Lines:
    at, to = random.randrange(len(lines)), random.randrange(len(lines))
    lines = list(lines)
    lines[at], lines[to] = lines[to], lines[at]
    return lines


def take_line(random: Random, lines: Lines, packs: Sequence[Lines]) -> Lines:
    """A line of another pack, or all from there on."""
    other = random.choice(packs)
    at, of = random.randrange(len(lines)), random.randrange(len(other))
    return random.choice(([*lines[:at], other[of], *lines[at + 1 :]], [*lines[:at], *other[of:]]))


def change_value(random: Random, lines: Lines, _packs: Sequence[Lines]) -> Lines:
    """One value of one line, written anew as a pack writes it; hashes of events are made to fit half of the time."""
    at = random.randrange(len(lines))
    try:
        value = orjson.loads(lines[at])
    except ValueError:
        return lines
    places = list(_places(value))
    if not places:
        return lines
    holder, name = random.choice(places)
    holder[name] = _other(random, holder[name])
    return [*lines[:at], canonical(value) + b"\n", *lines[at + 1 :]]


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        it = waiting.pop()
        names = it.keys() if isinstance(it, dict) else range(len(it))
        for name in names:
            found.append((it, name))
            if isinstance(it[name], (dict, list)):
                waiting.append(it[name])
    return found


def _other(random: Random, value: Any) -> Any:
    odd: tuple[Any, ...] = (
        None,
        True,
        False,
        0,
        -1,
        2**70,
        "",
        "0" * 64,
        [],
        {},
        "x" * 300,
        "\u2028",
    )
    if random.random() < 0.3:
        return random.choice(odd)
    if isinstance(value, bool) or value is None:
        return random.choice(odd)
    if isinstance(value, int):
        return value + random.choice((-1, 1, 1 << 32))
    if isinstance(value, str) and value:
        at = random.randrange(len(value))
        return value[:at] + random.choice((*HEX, "", value[at] * 2, "\x1f")) + value[at + 1 :]
    if isinstance(value, list) and value:
        return random.choice((value[:-1], value[::-1], [*value, value[-1]]))
    if isinstance(value, dict):
        return {**value, "more": 1}
    return random.choice(odd)


WAYS: tuple[Callable[[Random, Lines, Sequence[Lines]], Lines], ...] = (
    turn_bit, put_byte, cut, drop_line, double_line, swap_lines, take_line, change_value, change_value, change_value,
)  # fmt: skip
