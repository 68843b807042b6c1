"""What is shown of arguments: all of it, as it is, and nothing that passes for something else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from liyagent.approvals.shown import (
    BEGINNING,
    END,
    LONGEST_VALUE,
    PART,
    Line,
    lines_of,
    marked,
    part_of,
    raw_json,
    shortened,
    shown_path,
    warnings_of,
)

# Direction, no width, a control, a gap that is no space, a filler and a selector that count as letters.
ODD = "\u202e\u200b\x1b\u00a0\u3164\ufe0f\u2028\U000e0041\u2800\r"


def paths(args: dict[str, Any]) -> list[str]:
    return [it.path for it in lines_of(args)]


def test_each_value_has_a_line_with_its_path() -> None:
    args = {"a": {"b": [1, {"c": "x"}]}, "d": True, "e": None, "f": {}, "g": []}
    lines = lines_of(args)
    assert [it.path for it in lines] == ["a.b[0]", "a.b[1].c", "d", "e", "f", "g"]
    assert [it.text for it in lines] == ["1", "x", "true", "null", "{}", "[]"]
    assert [it.kind for it in lines] == [
        "number", "text, 1 character", "true or false", "nothing", "an empty object", "an empty list",
    ]  # fmt: skip


def test_a_number_and_the_text_of_it_are_told_apart() -> None:
    number, text = lines_of({"a": 1, "b": "1"})
    assert (number.kind, text.kind) == ("number", "text, 1 character")


def test_no_name_can_be_read_as_another_path() -> None:
    assert paths({"a.b": 1}) == ['["a.b"]']
    assert paths({"a": {"b": 1}}) == ["a.b"]
    assert paths({"a[0]": 1, "a": [1], "": 1, 'a"]["b': 1}) == [
        '["a[0]"]', "a[0]", '[""]', '["a\\"][\\"b"]',
    ]  # fmt: skip


@pytest.mark.parametrize("letter", ODD)
def test_a_letter_that_is_not_seen_is_written_out_by_its_number(letter: str) -> None:
    shown = str(marked(f"a{letter}b"))
    assert letter not in shown
    assert f"⟨U+{ord(letter):04X}⟩" in shown
    assert "liy-odd" in shown
    if not letter.isspace() or letter != "\u00a0":
        assert warnings_of([Line(path="x", value=f"a{letter}b")])


def test_text_that_imitates_the_mark_is_not_coloured() -> None:
    shown = str(marked("⟨U+202E⟩"))
    assert shown == "⟨U+202E⟩"
    assert warnings_of([Line(path="x", value="⟨U+202E⟩")]) == []


def test_a_line_end_within_a_value_is_marked_and_cannot_pass_for_a_line() -> None:
    assert str(marked("a\nb")) == 'a<span class="liy-char">↵</span>\nb'
    assert str(marked("a\tb")) == 'a<span class="liy-char">⇥</span>\tb'


def test_html_is_text() -> None:
    shown = str(marked("<script>alert(1)</script>\u202e<b>"))
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "<b>" not in shown


def test_what_pushes_the_rest_out_of_sight_is_counted_and_told() -> None:
    text = f"ls{' ' * 5000}; rm -rf /"
    shown = str(marked(text))
    assert "⟨5,000 spaces⟩" in shown
    assert " " * 41 not in shown
    assert any("gap of many spaces" in it for it in warnings_of([Line(path="x", value=text)]))
    lines = "ls" + "\n" * 300 + "rm"
    assert "⟨U+000A 300 times⟩" in str(marked(lines))
    assert any("gap of many lines" in it for it in warnings_of([Line(path="x", value=lines)]))


def test_a_crowd_of_one_letter_is_written_once_with_its_number() -> None:
    assert "⟨U+200B 9,000 times⟩" in str(marked("\u200b" * 9000))
    assert len(str(marked("\u200b" * 9000))) < 200


def test_of_a_long_value_beginning_and_end_are_shown_and_the_rest_is_counted() -> None:
    text = "a" * 10_000 + "the end"
    shown, left_out = shortened(text)
    assert left_out == len(text) - BEGINNING - END
    assert f"⟨{left_out:,} characters not shown here⟩" in str(shown)
    assert str(shown).endswith("the end")
    assert shortened("b" * LONGEST_VALUE) == ("b" * LONGEST_VALUE, 0)


def test_the_parts_of_a_long_text_are_all_of_it() -> None:
    text = "".join(chr(97 + it % 26) for it in range(2 * PART + 5))
    parts = [part_of(text, it) for it in (1, 2, 3)]
    assert "".join(part for part, _, _ in parts) == text
    assert [(at, of) for _, at, of in parts] == [(1, 3), (2, 3), (3, 3)]
    assert part_of(text, 99)[1] == 3
    assert part_of("", 5) == ("", 1, 1)


def test_a_long_path_says_that_it_is_cut() -> None:
    (line,) = lines_of({"k" * 5000: 1})
    assert "⟨the first 300 of 5,000 characters⟩" in str(shown_path(line.path))


def test_a_warning_names_the_letter_what_it_does_how_often_and_where() -> None:
    lines = lines_of({"host": "db\u202e1", "note": "x\u202ey\u202ez"})
    (told,) = warnings_of(lines)
    assert "⟨U+202E⟩ RIGHT-TO-LEFT OVERRIDE" in told
    assert "turns the direction" in told
    assert "3 times, in host, note" in told


def test_odd_letters_in_names_are_told_too() -> None:
    assert any("⟨U+200B⟩" in it for it in warnings_of(lines_of({"ho\u200bst": "a"})))


def test_alphabets_that_look_alike_within_a_word_are_told() -> None:
    (told,) = warnings_of(lines_of({"to": "p\u0430ypal.example"}))
    assert "look alike" in told
    assert "p\\u0430ypal" in told
    assert 'p\u0430<span class="liy-char liy-odd" title="CYRILLIC SMALL LETTER A">⟨U+0430⟩</span>ypal' in str(marked("a p\u0430ypal"))  # fmt: skip
    assert warnings_of(lines_of({"to": "Grüße, Привет мир, Ελλάδα und 日本"})) == []


def test_letters_written_from_right_to_left_are_told() -> None:
    assert any("right to left" in it for it in warnings_of(lines_of({"p": "/data/אבג/1"})))


def test_words_from_right_to_left_stand_in_the_order_they_are_sent_in() -> None:
    assert str(marked("/srv/אבג/12/דה")) == "/srv/<bdi>אבג</bdi>/12/<bdi>דה</bdi>"


def test_ordinary_text_has_no_warning() -> None:
    args = {"t": "A line.\nAnother: 12 €\tand 😀 — “quoted”", "n": 10**40, "deep": [[{"a": "b"}]]}
    assert warnings_of(lines_of(args)) == []


def test_warnings_are_few_however_many_kinds_there_are() -> None:
    told = warnings_of(lines_of({"x": "".join(map(chr, range(1, 32))) + ODD}))
    assert len(told) <= 13
    assert "more of such kinds" in told[-1]


def test_raw_json_is_exact_and_has_no_letter_beyond_ascii() -> None:
    args = {"a\u202e": ["<b>", "\u200b", "ü", 10**40, None, True]}
    raw = raw_json(args)
    assert raw.isascii()
    assert json.loads(raw) == args
