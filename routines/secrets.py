"""What looks secret or personal in the arguments of runs, and so is written into no routine (ruling 42, FL-93). Pure.

By its shape, by the name that it stands under, and by the name that stands beside it. Rather too much than too little: what is
taken for a secret becomes a parameter.
"""

from __future__ import annotations

import re
from typing import Any

from liyagent.core import personal_data, secret_words
from liyagent.core.secret_words import Starring
from routines.values import words_of

LONGEST_LOOKED_AT = 64 << 10
LONGEST_NAME = 120
SHAPES = (
    # --password hunter2, -H "Authorization: x", k-live-7731, user:password@host
    re.compile(r"(?i)(?<!\w)--?(?:password|passwd|pwd|pass|token|secret|api[_-]?key)[ =]+\S"),
    re.compile(r"(?i)\b(?:authorization|proxy-authorization|set-cookie|cookie)\b[\"']?\s{0,3}[:=]\s{0,3}\S"),
    re.compile(r"(?i)(?<![A-Za-z0-9])[a-z]{1,12}[-_](?:live|test|prod|secret)[-_][A-Za-z0-9]{4}"),
    re.compile(r"(?<![^\s/\"'(<])[^\s/:@\"']{1,100}:[^\s/:@\"']{3,100}@[A-Za-z0-9]"),
    re.compile(r"-----BEGIN "),
)  # fmt: skip
# Long runs of letters and digits that change between them again and again; a UUID is an id.
RUN = re.compile(r"[A-Za-z0-9+/_=-]{16,}")
UUID = re.compile(r"(?i)(?<![A-Za-z0-9])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![A-Za-z0-9])")
SWITCH = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
PIECE = re.compile(r"[A-Za-z0-9+/]{16,}")
LEAST_SWITCHES = 3
NAMED_BY = """
auth authentication authorization bearer cookie cookies credentials credential creds cvc cvv jwt otp passcode password passwords
passphrase pin pwd secret secrets session sessionid signature token totp birthday birthdate dob email emails firstname fullname iban
lastname mobile passport phone ssn surname telephone
"""
NAMES = frozenset(NAMED_BY.split())
# Ends of names of several words.
ENDS = (
    ("first", "name"), ("last", "name"), ("full", "name"), ("family", "name"), ("given", "name"), ("maiden", "name"),
    ("birth", "date"), ("of", "birth"), ("e", "mail"), ("phone", "number"), ("card", "number"), ("social", "security"),
    ("session", "id"), ("private", "key"), ("api", "key"), ("access", "key"), ("tax", "id"),
)  # fmt: skip
# Members that hold the name of what another member of their object holds.
NAMING = frozenset(("name", "key", "header", "field", "id", "label", "param", "parameter", "variable", "type"))  # fmt: skip


class Looking:
    """Looks for secrets and personal data; what was looked at once is remembered for as long as one routine is compiled."""

    __slots__ = ("_names", "_texts")

    def __init__(self) -> None:
        self._texts: dict[str, bool] = {}
        self._names: dict[str, bool] = {}

    def is_sensitive(self, text: str) -> bool:
        """Whether a text has something in it that looks secret or personal; one too long to be looked through has."""
        if len(text) > LONGEST_LOOKED_AT:
            return True
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = _is_sensitive(text)
        return found

    def is_sensitive_within(self, value: Any, *, is_named: bool) -> bool:
        """Whether anything in a value, names included, looks so; `is_named`: by the names that lead to it, all of it does."""
        if isinstance(value, str):
            return bool(value) and (is_named or self.is_sensitive(value))
        if isinstance(value, bool) or value is None:
            return False
        if isinstance(value, dict | list):
            if isinstance(value, dict) and any(map(self.is_sensitive, value)):
                return True
            named = self.named_within(value, is_named=is_named)
            parts = value.values() if isinstance(value, dict) else value
            return any(
                self.is_sensitive_within(it, is_named=its)
                for it, its in zip(parts, named, strict=True)
            )
        return is_named or self.is_sensitive(_digits(value))

    def named_within(self, value: dict[str, Any] | list[Any], *, is_named: bool) -> list[bool]:
        """Return of each part of a value whether names say that it is secret or personal: its own, or one beside it.

        `{"name": "X-Api-Key", "value": "…"}` and `["--token", "…"]` name by what stands beside.
        """
        if is_named:
            return [True] * len(value)
        if isinstance(value, list):
            return [False, *map(self._names_another, value[:-1])] if value else []
        naming = [
            name.casefold() in NAMING and self._names_another(it) for name, it in value.items()
        ]
        beside = any(naming)
        return [
            self._is_name(name) or (beside and not is_the_name)
            for name, is_the_name in zip(value, naming, strict=True)
        ]

    def _names_another(self, value: Any) -> bool:
        return isinstance(value, str) and self._is_name(value)

    def _is_name(self, name: str) -> bool:
        if len(name) > LONGEST_NAME:
            return False
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = is_sensitive_name(name)
        return found


def is_sensitive_name(name: str) -> bool:
    """Whether what bears this name is secret or personal, whatever it looks like."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME:
        return False
    if secret_words.NAME.search(name):
        return True
    words = words_of(name)
    if not words:
        return False
    if {words[-1], "".join(words)} & NAMES:
        return True
    return any(words[-len(it) :] == it for it in ENDS)


def _is_sensitive(text: str) -> bool:
    starring = Starring()
    starring.text(text)
    if starring.count or any(it.search(text) for it in SHAPES):
        return True
    return bool(personal_data.find(text)) or _has_token(text)


def _has_token(text: str) -> bool:
    """Whether something in it looks made by chance: long, and letters and digits mixed."""
    for run in RUN.findall(UUID.sub(" ", text)):
        if any(len(SWITCH.findall(it)) >= LEAST_SWITCHES for it in PIECE.findall(run)):
            return True
    return False


def _digits(value: float) -> str:
    is_whole = not isinstance(value, int) and value.is_integer()
    return str(int(value)) if is_whole else str(value)
