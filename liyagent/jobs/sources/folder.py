"""A folder below a root that the settings name: its files that hold text, never by a link that leads out of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from liyagent.core.errors import BadInput
from liyagent.jobs.sources.errors import Gone, SourceAway, Unreadable
from liyagent.jobs.sources.origin import LONGEST_PATH, Content, ordered
from liyagent.jobs.sources.text import MOST_BYTES

HTML = frozenset({".html", ".htm", ".xhtml"})
PLAIN = frozenset({".txt", ".md", ".markdown", ".rst", ".adoc", ".org", ".csv", ".tsv", ".json", ".yaml", ".yml", ".toml", ".ini", ".conf", ".xml", ".log"})  # fmt: skip
MOST_DEPTH = 50


def check_folder(text: object) -> str:
    """Return a folder that may be read. Raises `BadInput` for one that is not below a root of LIYAGENT_SOURCE_ROOTS."""
    roots = settings.LIYAGENT.source_roots
    if not roots:
        raise BadInput(
            "cannot be read: LIYAGENT_SOURCE_ROOTS names no directory that folders may lie below"
        )
    named = ", ".join(str(root) for root in roots)
    if not isinstance(text, str) or not text.startswith("/") or "\x00" in text or len(text) > LONGEST_PATH:  # fmt: skip
        raise BadInput(f"wants an absolute path below {named}")
    found = Path(os.path.realpath(text))
    if not any(found.is_relative_to(root) for root in roots):
        raise BadInput(f"wants a folder below {named}")
    if not found.is_dir():
        raise BadInput("is no folder that can be seen from here")
    return str(found)


class Folder:
    """Files by their path within it; hidden ones and links are left out."""

    def __init__(self, folder: str) -> None:
        """`folder` as `check_folder` returned it; it is checked again, the roots may have changed."""
        self._root = folder

    def paths(self) -> list[str]:
        """Return every path in order. Raises `SourceAway`."""
        try:
            check_folder(self._root)
            return ordered(self._walk("", 0), self._root)
        except BadInput as error:
            raise SourceAway(f"{self._root} {error}") from None
        except OSError as error:
            raise SourceAway(f"{self._root} cannot be listed: {error.strerror}") from None

    def read(self, path: str) -> Content:
        """Return a file. Raises `Unreadable`, `Gone`, `SourceAway`."""
        try:
            content = self._bytes(path)
        except (FileNotFoundError, NotADirectoryError):
            if not Path(self._root).is_dir():
                raise SourceAway(f"{self._root} is not there any more") from None
            raise Gone from None
        except OSError as error:
            raise Unreadable(error.strerror or "cannot be read") from None
        if b"\x00" in content:
            raise Unreadable("is no text")
        suffix = Path(path).suffix.lower()
        return Content(content=content, is_html=suffix in HTML, title=Path(path).name)

    def _bytes(self, path: str) -> bytes:
        # Without waiting: whoever put a pipe of that name there would hold the job.
        number = os.open(Path(self._root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)  # fmt: skip
        with open(number, "rb") as file:
            # What was opened, not what stands there now: a folder on the way may have become a link.
            if not Path(os.path.realpath(f"/proc/self/fd/{number}")).is_relative_to(self._root):
                raise Unreadable("lies outside of the folder")
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise Unreadable("is no file")
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise Unreadable(f"has more than {MOST_BYTES} bytes")
        return content

    def _walk(self, below: str, depth: int) -> Iterator[str]:
        if depth > MOST_DEPTH:
            raise SourceAway(f"{self._root} is nested deeper than {MOST_DEPTH} folders")
        with os.scandir(Path(self._root, below)) as entries:
            inner = []
            for entry in entries:
                path = f"{below}/{entry.name}" if below else entry.name
                if entry.name.startswith(".") or not _is_storable(path):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    inner.append(path)
                elif (
                    entry.is_file(follow_symlinks=False)
                    and Path(path).suffix.lower() in HTML | PLAIN
                ):
                    yield path
        for path in inner:
            yield from self._walk(path, depth + 1)


def _is_storable(path: str) -> bool:
    """A name that is no UTF-8 has lone surrogates here."""
    return len(path) <= LONGEST_PATH and not any("\ud800" <= it <= "\udfff" for it in path)
