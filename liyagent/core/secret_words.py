"""What looks like a secret within words, and the secrets that this process knows: starred out before words go elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from liyagent.core.logs import SECRETS

SHOWN = "[secret]"
# A shorter value of a known secret stands in ordinary words by chance.
LEAST_KNOWN = 8
SHAPES = (
    re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.{0,10000}?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})"),
    re.compile(r"\bxox[a-z]-[A-Za-z0-9-]{10,}"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(r"\bAIza[A-Za-z0-9_-]{30,}"),
    re.compile(r"\bATATT[A-Za-z0-9_=-]{20,}"),
    re.compile(r"\bwhsec_[A-Za-z0-9+/=_-]{16,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
)  # fmt: skip
NAMES = r"passwo?r?d|passphrase|passwd|pwd|secret|credential|api[_-]?key|access[_-]?key|private[_-]?key|auth(?:entication|orization)?[_-]?token|access[_-]?token|refresh[_-]?token|bearer[_-]?token|client[_-]?secret|token"
# `password: x`, `"api_key": "x"`, `TOKEN=x`; a number of tokens is none.
NAMED = re.compile(rf"""(?ix) \b (?P<name> [\w.-]{{0,40}}? (?:{NAMES}) ) (?P<sign> \\?["']? \s{{0,3}} [:=] \s{{0,3}} ) (?P<value> \\?"[^"\\]{{1,500}}\\?" | '[^']{{1,500}}' | [^\s"',;&}}\]]{{4,500}} )""")  # fmt: skip
NAME = re.compile(rf"(?i)(?:^|[\w.-])*?(?:{NAMES})$")


@dataclass(slots=True)
class Starring:
    """Stars secrets out of words; `count` is how many were found. `known` are values that are secrets for certain."""

    known: tuple[str, ...] = ()
    count: int = field(default=0)

    def text(self, text: str) -> str:
        """Return `text` without what looks like a secret."""
        for value in self.known:
            if value in text:
                self.count += text.count(value)
                text = text.replace(value, SHOWN)
        for shape in SHAPES:
            text, found = shape.subn(SHOWN, text)
            self.count += found
        for shape, shown in SECRETS:
            text, found = shape.subn(shown.replace("***", SHOWN), text)
            self.count += found
        return NAMED.sub(self._named, text)

    def plain(self, value: Any, name: str = "") -> Any:
        """Return plain data without what looks like a secret, a text that is named like one included."""
        if isinstance(value, str):
            if value and NAME.search(name):
                self.count += 1
                return SHOWN
            return self.text(value)
        if isinstance(value, list):
            return [self.plain(it, name) for it in value]
        if isinstance(value, dict):
            return {self.text(key): self.plain(it, key) for key, it in value.items()}
        return value

    def _named(self, found: re.Match[str]) -> str:
        value = found["value"]
        if SHOWN in value or value.strip("\\\"'").isdigit():
            return found[0]
        self.count += 1
        quote = value[: len(value) - len(value.lstrip("\\\"'"))]
        return f"{found['name']}{found['sign']}{quote}{SHOWN}{quote}"


def worth_starring(values: Iterable[str]) -> tuple[str, ...]:
    """Return known secrets that are long enough to be told from words, the longest first."""
    return tuple(sorted({it for it in values if len(it) >= LEAST_KNOWN}, key=len, reverse=True))
