"""Events of one attempt, kept in the process until its next commit takes them along (EV-07)."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Any

from events.tags import Tagger
from liyagent.core.canonical import canonical


@dataclass(slots=True, kw_only=True)
class EventBuffer:
    """Collects `(kind, line)`: canonical content with its tag. `words` keeps text only where recorded in full (EV-06).

    `digest_key`: with it the stand-in of words is HMAC-SHA-256, since short words can be guessed (ruling 27).
    """

    tagger: Tagger
    is_full: bool
    is_enabled: bool = True
    digest_key: bytes = b""
    pending: list[tuple[str, str]] = field(default_factory=list)

    def add(self, kind: str, **facts: Any) -> None:
        """Buffer one event; `facts` are plain data. Nothing is written here."""
        if self.is_enabled:
            self.pending.append((kind, self.tagger.line(kind, canonical(facts).decode())))

    def take_back(self) -> None:
        """Forget what was added last, as if it never was: no commit took it along."""
        if self.is_enabled:
            self.pending.pop()
            self.tagger.ordinal -= 1

    def words(self, value: Any) -> Any:
        """Return `value` where words are kept, else their digest and length."""
        return value if self.is_full or not self.is_enabled else self.digest(value)

    def digest(self, value: Any) -> dict[str, Any]:
        """Return the stand-in of words that are kept nowhere: their digest and length."""
        text = canonical(value)
        digest = (
            hmac.new(self.digest_key, text, hashlib.sha256)
            if self.digest_key
            else hashlib.sha256(text)
        )
        return {"sha256": digest.hexdigest(), "bytes": len(text)}

    def taken(self) -> tuple[str, str]:
        """Return kinds and lines of what is buffered, for a hot statement; `clear` after it answered."""
        kinds, lines = zip(*self.pending, strict=True) if self.pending else ((), ())
        return "\n".join(kinds), "\n".join(lines)

    def clear(self) -> None:
        """Forget what a commit has taken along."""
        self.pending.clear()
