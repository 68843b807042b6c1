"""Files that an operator hands over."""

from __future__ import annotations

from pathlib import Path

import pytest

from liyagent.core.errors import BadInput
from liyagent.core.files import parse_yaml, read_text

LAUGHS = "a0: &a0 [lol]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS, "aliases"),
        ("a: &a [*a]", "aliases"),
        ("a: 1\nb: {c: 1, c: 2}", "'c' stands twice"),
        ("\ta: 1", "cannot start any token"),
        ("a: " + "[" * 5000, "deep"),
        ("a: " + "[" * 150 + "]" * 150, "nested deeper than 100"),
        ("a: " + "9" * 5000, "digits"),
        ("a: 2026-13-45", "month must be in"),
        ("!!python/object/apply:os.system [true]", "python/object"),
        ("? [a]\n: 1", "unhashable"),
        ("a: 1\n---\nb: 2", "single document"),
        ("a: \x00", "special characters"),
        (
            "a: 1\nb: !!timestamp soon",
            'no value of tag:yaml.org,2002:timestamp in "<unicode string>", line 2',
        ),
        ("a: !!bool maybe", "no value of tag:yaml.org,2002:bool"),
        ("a: !!int ''", "no value of tag:yaml.org,2002:int"),
        ("a: !!float ''", "no value of tag:yaml.org,2002:float"),
        ("a: !!set [1]", "wants names with values"),
        ("? !!timestamp soon\n: 1", "no value of tag:yaml.org,2002:timestamp"),
        ("a: 1\nb: 2026-13-45", 'month must be in 1..12 in "<unicode string>", line 2'),
    ],
)
def test_yaml_that_cannot_be_used_is_told_on_one_line(text: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_yaml(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500


def test_values_that_json_lacks_become_text() -> None:
    assert parse_yaml('{a: .nan, b: 2026-01-02, 1: !!binary aGk=, c: "\\0"}') == {
        "a": "NaN",
        "b": "2026-01-02",
        "1": "aGk=",
        "c": "\ufffd",
    }


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("/", "Is a directory"),
        ("/nowhere", "No such file"),
        ("a\x00b", "null byte"),
        ("/dev/zero", "larger than"),
    ],
)
def test_what_is_no_file_of_text_is_told(place: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_text(place)


def test_text_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a: \xff")
    with pytest.raises(BadInput, match="utf-8"):
        read_text(tmp_path / "f")
