"""Where roots are exported to: a directory or a web address of the operator's choice, outside the database's reach.

A root's file is written once and never over another; `newest.json` is replaced. What cannot be reached is `TargetDown`.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import httpx2
from django.conf import settings

from liyagent.core.errors import LiyagentError
from liyagent.core.outbound import guarded_client

NEWEST = "newest.json"
MOST_BYTES = 1 << 20
# How long one byte is waited for, and all of an answer.
ANSWER_SECONDS, WHOLE_SECONDS = 10.0, 30.0
AGENT = "Liyagent-Roots"


class TargetDown(LiyagentError):
    """The target of roots could not be read or written; what it misses is sent later."""

    code = "roots.target_down"


class OtherRoot(LiyagentError):
    """Another root has that name at the target."""

    code = "roots.other_root"


class Target(Protocol):
    """What a target can do; each may raise `TargetDown`."""

    def read(self, name: str) -> bytes | None:
        """Return what has that name, None where nothing has."""

    def write_once(self, name: str, data: bytes) -> None:
        """Write it where nothing has that name. Raises `OtherRoot` where something else has."""

    def replace(self, name: str, data: bytes) -> None:
        """Write it, whatever had that name: as a whole, never half."""

    def __enter__(self) -> Target: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def own_target() -> Target | None:
    """Return the target that is set, None where none is."""
    conf = settings.LIYAGENT.roots
    if not conf.export:
        return None
    return WebTarget(conf.export, conf.token) if conf.is_web else DirectoryTarget(Path(conf.export))


class DirectoryTarget(Target):
    """A directory, such as a mounted share that allows no change of what was written."""

    def __init__(self, path: Path) -> None:
        """It has to exist by the time that it is used."""
        self.path = path

    def read(self, name: str) -> bytes | None:
        """Return a file."""
        try:
            if not self.path.is_dir():
                raise TargetDown(f"{self.path} is no directory")
            with (self.path / name).open("rb") as file:
                return file.read(MOST_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TargetDown(f"{self.path / name} cannot be read: {error.strerror}") from None

    def write_once(self, name: str, data: bytes) -> None:
        """Make a file, which is there as a whole or not at all."""
        try:
            with suppress(FileExistsError):
                self._place(name, data, os.link)
                return
        except OSError as error:
            raise TargetDown(f"{self.path / name} cannot be written: {error.strerror}") from None
        if self.read(name) != data:
            raise OtherRoot(f"{self.path / name} holds another root")

    def replace(self, name: str, data: bytes) -> None:
        """Replace a file."""
        try:
            self._place(name, data, os.rename)
        except OSError as error:
            raise TargetDown(f"{self.path / name} cannot be written: {error.strerror}") from None

    def _place(self, name: str, data: bytes, place: object) -> None:
        handle, draft = tempfile.mkstemp(dir=self.path, prefix=".draft-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(handle, 0o644)
                os.fsync(handle)
            assert callable(place)
            place(draft, self.path / name)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft)

    def __enter__(self) -> DirectoryTarget:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""


class WebTarget(Target):
    """A web address below which names are read with GET and written with PUT, `If-None-Match: *` where it is once."""

    def __init__(self, url: str, token: str) -> None:
        """`token` is sent as a bearer token, where there is one."""
        self.url = url.rstrip("/")
        headers = {"user-agent": AGENT, "accept-encoding": "identity"}
        headers |= {"authorization": f"Bearer {token}"} if token else {}
        self._until = 0.0
        self._client = guarded_client(
            timeout_seconds=ANSWER_SECONDS, headers=headers, while_reading=self._check_time
        )

    def read(self, name: str) -> bytes | None:
        """Return what GET answers, None for 404."""
        status, data = self._ask("GET", name)
        if status == httpx2.codes.NOT_FOUND:
            return None
        if status != httpx2.codes.OK:
            raise TargetDown(f"{name} cannot be read: {status}")
        return data

    def write_once(self, name: str, data: bytes) -> None:
        """PUT it; 412 says that there is one."""
        if self._put(name, data, {"if-none-match": "*"}) and self.read(name) != data:
            raise OtherRoot(f"{name} is another root there")

    def replace(self, name: str, data: bytes) -> None:
        """PUT it."""
        self._put(name, data, {})

    def _put(self, name: str, data: bytes, headers: dict[str, str]) -> bool:
        """Whether there is one already."""
        headers = {"content-type": "application/json", **headers}
        status, _ = self._ask("PUT", name, content=data, headers=headers)
        is_there = status == httpx2.codes.PRECONDITION_FAILED
        if not (httpx2.codes.is_success(status) or is_there):
            raise TargetDown(f"{name} cannot be written: {status}")
        return is_there

    def _ask(self, method: str, name: str, **sent: Any) -> tuple[int, bytes]:
        """Return what is answered: as it comes, never unpacked, so that its size is what is read."""
        self._until = time.monotonic() + WHOLE_SECONDS
        try:
            with self._client.stream(method, f"{self.url}/{name}", **sent) as response:
                data = b""
                for piece in response.iter_raw():
                    data += piece
                    if len(data) > MOST_BYTES:
                        raise TargetDown(f"{name} is larger than a root")
                return response.status_code, data
        except (httpx2.HTTPError, LiyagentError, OSError) as error:
            raise _down(name, error) from None

    def _check_time(self) -> None:
        if time.monotonic() > self._until:
            raise TargetDown(f"the answer took more than {WHOLE_SECONDS:.0f} s")

    def __enter__(self) -> WebTarget:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()


def _down(name: str, error: Exception) -> TargetDown:
    return (
        error
        if isinstance(error, TargetDown)
        else TargetDown(f"{name}: {type(error).__name__}: {error}")
    )
