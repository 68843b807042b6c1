"""The commands of a document, in order, as a reader types them; and the means to carry them out in this process."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from django.core.management import call_command

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands_of(document: str) -> Iterator[str]:
    """Yield every line of the shell blocks of a document."""
    for block in BLOCK.findall((DOCS / document).read_text()):
        yield from block.splitlines()


@dataclass(kw_only=True)
class Shell:
    """Carries out `liyagent ...` and `cat ...` with redirections. `places`: what stands for what a reader has."""

    places: Mapping[str, str]
    said: dict[str, str] = field(default_factory=dict)

    def type(self, line: str) -> None:
        """Carry one line out; what it printed is in `said`."""
        for written, meant in self.places.items():
            line = line.replace(written, meant)
        words = shlex.split(line)
        target = words[-1] if len(words) > 2 and words[-2] in {">", ">>"} else ""
        text = self._printed(words[:-2] if target else words)
        self.said[line] = text
        if target:
            with Path(target).open("a" if words[-2] == ">>" else "w") as file:
                file.write(text)

    def _printed(self, words: list[str]) -> str:
        if words[0] == "cat":
            return "".join(Path(name).read_text() for name in words[1:])
        assert words[0] == "liyagent"
        out = StringIO()
        call_command(*words[1:], stdout=out, stderr=out)
        return out.getvalue()
