"""Aligned text."""

from __future__ import annotations

from datetime import UTC, datetime

from liyagent.core.tables import aligned, cell, visible


def test_columns_are_aligned_and_missing_values_shown() -> None:
    assert aligned(("A", "LONG"), [("wide value", None), ("x", 7)]) == (
        "A           LONG\nwide value  -\nx           7"
    )


def test_a_value_stays_on_its_line_and_moves_no_cursor() -> None:
    assert cell("a\n\tb \x1b[2Jc\u202e") == r"a b \x1b[2Jc\u202e"
    assert cell("a\x00b") == "a\ufffdb"
    assert cell(datetime(2026, 11, 29, 17, 0, 5, 999, UTC)) == "2026-11-29 17:00:05Z"
    assert cell(0) == "0"
    assert cell(False) == "False"


def test_words_keep_their_lines_and_show_what_would_steer_the_terminal() -> None:
    assert visible("a\n\tb\u00a0c \u00fc") == "a\n\tb\u00a0c \u00fc"
    assert visible("\x1b]0;title\x07\r\x9b2J\u202e") == r"\x1b]0;title\x07\r\x9b2J\u202e"


def test_letters_that_count_as_printable_and_are_not_seen_are_written_out() -> None:
    assert visible("a\u3164b\ufe0f\U000e0101") == r"a\u3164b\ufe0f\U000e0101"
