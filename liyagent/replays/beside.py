"""Two sequences of calls beside each other, so that the eye finds what only one of them has. Pure."""

from __future__ import annotations

from collections.abc import Sequence

# Of each sequence; the time to lay them beside each other grows with the product of both.
MOST_BESIDE = 300


def beside(was: Sequence[str], now: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Return pairs of places, in order: those of one name together as often as can be, each other one alone.

    Both are at most `MOST_BESIDE` long.
    """
    lengths = _lengths(was, now)
    pairs: list[tuple[int | None, int | None]] = []
    first, second = 0, 0
    while first < len(was) and second < len(now):
        if was[first] == now[second]:
            pairs.append((first, second))
            first, second = first + 1, second + 1
        elif lengths[first + 1][second] >= lengths[first][second + 1]:
            pairs.append((first, None))
            first += 1
        else:
            pairs.append((None, second))
            second += 1
    pairs += [(place, None) for place in range(first, len(was))]
    pairs += [(None, place) for place in range(second, len(now))]
    return pairs


def _lengths(was: Sequence[str], now: Sequence[str]) -> list[list[int]]:
    """How much both have in common from each two places on."""
    lengths = [[0] * (len(now) + 1) for _ in range(len(was) + 1)]
    for first in reversed(range(len(was))):
        for second in reversed(range(len(now))):
            lengths[first][second] = (
                lengths[first + 1][second + 1] + 1
                if was[first] == now[second]
                else max(lengths[first + 1][second], lengths[first][second + 1])
            )
    return lengths
