"""Guardrails: what may not go into an agent's model, and what may not come out of it.

`{"input": [check...], "output": [check...]}`. Input checks look at what a person or caller gives, task and history, each
text on its own; results of tools are no business of theirs (data policies are for those). Output checks look at each
text of the model. A check refuses, or masks what it found. Names and kinds of checks are told; what was
found never is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from liyagent.core import personal_data
from liyagent.core.bounded_regex import BoundedRegex, TooSlow
from liyagent.core.errors import BadInput
from liyagent.core.plain import clean_text

DIRECTIONS = ("input", "output")
MOST_CHECKS = 50
MOST_LENGTH = 200_000
NAME = re.compile(r"[A-Za-z0-9_.-]{1,80}")
REFUSE, MASK = "refuse", "mask"
FIELDS = {
    "length": ("kind", "action", "most"),
    "pattern": ("kind", "action", "name", "pattern"),
    "personal_data": ("kind", "action", "what"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """That a check found what it looks for. `action`: what was done about it."""

    direction: str
    kind: str
    name: str
    action: str

    @property
    def told(self) -> str:
        """The check in words."""
        return (
            f"guardrail {self.kind}{f' {self.name}' if self.name else ''} of its {self.direction}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """A text as the checks left it, and those that acted; `refused` is the first one that refuses it."""

    text: str
    acted: tuple[Acted, ...] = ()

    @property
    def refused(self) -> Acted | None:
        """The check that refused, None where the text may go on."""
        return next((it for it in self.acted if it.action == REFUSE), None)


def screen(text: str, *, checks: Iterable[dict[str, Any]], direction: str) -> Screened:
    """Put a text through checks as `clean_guardrails` returns them, in their order; the first refusal ends it.

    A pattern that cannot be searched for in its time refuses: what could not be looked at does not pass.
    """
    acted: list[Acted] = []
    for check in checks:
        action = check["action"]
        try:
            masked = _masked(text, check)
        except TooSlow:
            masked, action = None, REFUSE
        if masked == text:
            continue
        told = Acted(
            direction=direction, kind=check["kind"], name=check.get("name", ""), action=action
        )
        acted.append(told)
        if action == REFUSE or masked is None:
            break
        text = masked
    return Screened(text=text, acted=tuple(acted))


def _masked(text: str, check: dict[str, Any]) -> str | None:
    """The text with what was found masked; unchanged where nothing was, None where it cannot be masked."""
    if check["kind"] == "length":
        return text if len(text) <= check["most"] else None
    if check["kind"] == "personal_data":
        return personal_data.mask(text, check["what"])
    pieces: list[str] = []
    at = 0
    for start, end in _regex(check["pattern"]).spans(text):
        pieces += (text[at:start], f"[{check['name']}]")
        at = end
    return "".join((*pieces, text[at:])) if pieces else text


@lru_cache(maxsize=256)
def _regex(pattern: str) -> BoundedRegex:
    return BoundedRegex(pattern)


def clean_guardrails(value: Any) -> dict[str, list[dict[str, Any]]]:
    """Return guardrails with their defaults. Raises `ValueError` with the place of what is wrong and what it wants."""
    if not isinstance(value, dict) or any(name not in DIRECTIONS for name in value):
        raise ValueError("an object of `input` and `output`, each a list of checks")
    return {
        name: _checks(value[name], name) for name in DIRECTIONS if value.get(name) not in ([], None)
    }


def _checks(value: Any, place: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or len(value) > MOST_CHECKS:
        raise ValueError(f"{place}: a list of at most {MOST_CHECKS} checks")
    return [_check(check, f"{place}[{index}]") for index, check in enumerate(value)]


def _check(value: Any, place: str) -> dict[str, Any]:
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in FIELDS:
        raise ValueError(f"{place}: an object whose kind is one of {', '.join(FIELDS)}")
    unknown = [name for name in value if name not in FIELDS[kind]]
    if unknown:
        raise ValueError(
            f"{place}: no {str(unknown[0])[:80]!r}; {kind} takes {', '.join(FIELDS[kind])}"
        )
    checked = {"kind": kind, "action": _action(value.get("action", REFUSE), kind, place)}
    if kind == "length":
        return {**checked, "most": _most(value.get("most"), place)}
    if kind == "personal_data":
        return {**checked, "what": _what(value.get("what"), place)}
    return {**checked, **_pattern(value, place)}


def _action(value: Any, kind: str, place: str) -> str:
    allowed = (REFUSE,) if kind == "length" else (REFUSE, MASK)
    if value not in allowed:
        raise ValueError(f"{place}.action: {' or '.join(allowed)}")
    return str(value)


def _most(value: Any, place: str) -> int:
    if type(value) is not int or not 1 <= value <= MOST_LENGTH:
        raise ValueError(f"{place}.most: characters, a whole number from 1 to {MOST_LENGTH}")
    return value


def _what(value: Any, place: str) -> list[str]:
    kinds = personal_data.KINDS
    if not isinstance(value, list) or not value or any(it not in kinds for it in value):
        raise ValueError(f"{place}.what: a list of {', '.join(kinds)}, at least one")
    return [kind for kind in kinds if kind in value]


def _pattern(value: dict[str, Any], place: str) -> dict[str, str]:
    name, pattern = value.get("name"), value.get("pattern")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"{place}.name: 1 to 80 letters, digits, -, _ and .")
    if not isinstance(pattern, str) or clean_text(pattern) != pattern:
        raise ValueError(
            f"{place}.pattern: a regular expression, written in text that can be stored"
        )
    try:
        regex = _regex(pattern)
    except BadInput as error:
        raise ValueError(f"{place}.pattern: a regular expression; this one {error}") from None
    # A masked text is looked at again, as by a resume, and has to stay as it is.
    if regex.is_in(f"[{name}]"):
        raise ValueError(f"{place}.name: a name that the pattern itself does not find")
    return {"name": name, "pattern": pattern}
