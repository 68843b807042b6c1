"""What looks secret or personal in the arguments of runs, and so is written into no routine (ruling 42, FL-93). Pure.

By its shape, by the name that it stands under, and by the name that stands beside it. Rather too much than too little: what is
taken for a secret becomes a parameter.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from liyagent.core import personal_data
from liyagent.core.secret_words import Starring
from routines.secret_names import LONGEST_NAME, is_sensitive_name
from routines.values import data_of

LONGEST_LOOKED_AT = 64 << 10
SAID = "password|passwd|pwd|passcode|passphrase|pin|passwort|kennwort|contraseña|clave|mot de passe|senha|wachtwoord|hasło|пароль|密码"
SHAPES = (
    # --password hunter2, -H "Authorization: x", k-live-7731, user:password@host
    re.compile(r"(?i)(?<!\w)--?(?:password|passwd|pwd|pass|token|secret|api[_-]?key)[ =]+\S"),
    re.compile(r"(?i)\b(?:authorization|proxy-authorization|set-cookie|cookie)\b[\"']?\s{0,3}[:=]\s{0,3}\S"),
    re.compile(r"(?i)(?<![A-Za-z0-9])[a-z]{1,12}[-_](?:live|test|prod|secret)[-_][A-Za-z0-9]{4}"),
    re.compile(r"(?<![^\s/\"'(<])[^\s/:@\"']{1,100}:[^\s/:@\"']{3,100}@[A-Za-z0-9]"),
    re.compile(r"-----BEGIN "),
    # curl -u bot:hunter2, mysql -phunter2, ?key=x, the password is x, pin 4711
    re.compile(r"(?<!\w)(?:-u|--user|--proxy-user)[ =]{1,3}[\"']?[^\s:\"']{1,100}:\S"),
    re.compile(r"(?<!\w)(?:mysql|mariadb|mysqldump|sshpass|smbclient)\s[^\n]{0,200}?-p ?[^\s-]"),
    re.compile(r"(?i)[?&](?:key|code)=[^\s&]"),
    re.compile(rf"(?i)(?<!\w)(?:{SAID})\s{{1,3}}(?:(?:is|was|eq|ist|lautet|war|es|est)\s{{1,3}}\S|(?=\S{{0,64}}[0-9])\S{{4}})"),
)  # fmt: skip
# `pin: 4711`, `"first_name": "x"`, `secret key = x`; <Kennwort>x</Kennwort>.
PAIR = re.compile(r"(?<![\w.-])((?:[\w.-]{1,30} ){0,2}[\w.-]++)\\{0,8}[\"']?\s{0,3}(?:=>|:=|[:=])\s{0,3}\\{0,8}[\"']?(?=[^\s\"'\\,;&}\])])")  # fmt: skip
TAG = re.compile(r"<([\w.:-]{1,60})(?:\s[^<>]{0,200})?>\s{0,3}(?=[^<\s])")
# Long runs of letters and digits that change between them again and again; a UUID is an id.
RUN = re.compile(r"[A-Za-z0-9+/_=-]{16,}")
UUID = re.compile(r"(?i)(?<![A-Za-z0-9])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![A-Za-z0-9])")
SWITCH = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
PIECE = re.compile(r"[A-Za-z0-9+/]{16,}")
LEAST_SWITCHES = 3
# Members that hold the name of what another member of their object holds.
NAMING = frozenset(["arg", "argument", "attr", "attribute", "column", "field", "flag", "header", "id", "k", "key", "label", "name", "option", "param", "parameter", "path", "prop", "property", "selector", "setting", "type", "variable"])  # fmt: skip
# Members that hold such names in a list, and those that hold what they name.
NAMING_MANY, NAMED_MANY = frozenset(("columns", "headers", "keys", "names", "path")), frozenset(("cells", "data", "items", "rows", "value", "values"))  # fmt: skip
# JSON within a text, and within a text of that.
DEEPEST = 2
BASE64_SIGNS = str.maketrans("+/", "-_")
BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}")


class Looking:
    """Looks for secrets and personal data; what was looked at once is remembered for as long as one routine is compiled."""

    __slots__ = ("_deep", "_names", "_texts")

    def __init__(self) -> None:
        self._texts: dict[str, bool] = {}
        self._names: dict[str, bool] = {}
        self._deep = 0

    def is_sensitive(self, text: str) -> bool:
        """Whether a text has something in it that looks secret or personal; one too long to be looked through has."""
        if len(text) > LONGEST_LOOKED_AT:
            return True
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = _is_sensitive(text) or self._is_sensitive_data(text)
        return found

    def _is_sensitive_data(self, text: str) -> bool:
        """Of a text that is JSON, what its names and values say."""
        data = data_of(text) if self._deep < DEEPEST else text
        if isinstance(data, str):
            return False
        self._deep += 1
        try:
            return self.is_sensitive_within(data, is_named=False)
        finally:
            self._deep -= 1

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

        `{"name": "X-Api-Key", "value": "…"}` and `["--token", "…"]` name by what stands beside; `["mysql", "-p", "…"]` is looked
        at as the text that it comes to.
        """
        if is_named:
            return [True] * len(value)
        if isinstance(value, list):
            if self._is_sensitive_together([it for it in value if isinstance(it, str)]):
                return [True] * len(value)
            return [False, *map(self._names_another, value[:-1])] if value else []
        are_named = any(
            name.casefold() in NAMING_MANY and isinstance(it, list) and any(map(self._names_another, it))
            for name, it in value.items()
        )  # fmt: skip
        naming = [
            name.casefold() in NAMING and self._names_another(it) for name, it in value.items()
        ]
        beside = any(naming)
        return [
            self._is_name(name)
            or (beside and not is_the_name)
            or (are_named and name.casefold() in NAMED_MANY)
            for name, is_the_name in zip(value, naming, strict=True)
        ]

    def _is_sensitive_together(self, texts: Sequence[str]) -> bool:
        if len(texts) < 2 or sum(map(len, texts)) + len(texts) > LONGEST_LOOKED_AT:
            return False
        return self.is_sensitive(" ".join(texts)) and not any(map(self.is_sensitive, texts))

    def _names_another(self, value: Any) -> bool:
        return isinstance(value, str) and self._is_name(value)

    def _is_name(self, name: str) -> bool:
        if len(name) > LONGEST_NAME:
            return False
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = is_sensitive_name(name)
        return found


def _is_sensitive(text: str) -> bool:
    return _looks_sensitive(text) or any(map(_looks_sensitive, _said_otherwise(text)))


def _looks_sensitive(text: str) -> bool:
    starring = Starring()
    starring.text(text)
    if starring.count or any(it.search(text) for it in SHAPES):
        return True
    if any(is_sensitive_name(it[1]) for shape in (PAIR, TAG) for it in shape.finditer(text)):
        return True
    return bool(personal_data.find(text)) or _has_token(text)


def _said_otherwise(text: str) -> Iterator[str]:
    """What it says with its percent signs read, and what words it holds as base64."""
    read = unquote(text) if "%" in text else text
    if read != text:
        yield read
    for run in BASE64.findall(text):
        try:
            words = urlsafe_b64decode(run.translate(BASE64_SIGNS) + "=" * (-len(run) % 4)).decode()
        except ValueError:
            continue
        if words.isprintable():
            yield words


def _has_token(text: str) -> bool:
    """Whether something in it looks made by chance: long, and letters and digits mixed."""
    for run in RUN.findall(UUID.sub(" ", text)):
        if any(len(SWITCH.findall(it)) >= LEAST_SWITCHES for it in PIECE.findall(run)):
            return True
    return False


def _digits(value: float) -> str:
    is_whole = not isinstance(value, int) and value.is_integer()
    return str(int(value)) if is_whole else str(value)
