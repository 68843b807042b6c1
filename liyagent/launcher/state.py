"""The state directory of `up`: what is kept there, who may read it, and where PostgreSQL's data lie."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from liyagent.launcher.binaries import REACHABLE
from liyagent.launcher.errors import AlreadyStarted
from liyagent.launcher.users import first_closed, server_user

PRIVATE = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Paths below the state directory. Files are mode 600, directories 700."""

    root: Path

    @property
    def logs(self) -> Path:
        """Where each child's output goes, one file a child."""
        return self.root / "log"

    @property
    def ledgers(self) -> Path:
        """Where the demo vendors keep what they did."""
        return self.root / "vendors"

    @property
    def database_url(self) -> Path:
        """The running embedded database's address, for `manage.py` in another shell."""
        return self.root / "database-url"

    @property
    def admin_password(self) -> Path:
        """The demo login's password, made once."""
        return self.root / "admin-password"

    def prepare(self) -> None:
        """Make the directories."""
        for directory in (self.root, self.logs, self.ledgers):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)

    def postgres(self) -> Path:
        """Return the data directory, which the server's user can reach.

        As root the server runs as somebody else: its group may then pass through the state directory. Below
        a closed parent (a checkout in /root) the data lie in /var/lib/liyagent under a random name, and a link here
        is the only memory of it: whoever deletes the state directory starts anew, never with old data.
        """
        place = self.root / "postgres"
        user = server_user(place)
        if not user.is_other:
            return place
        if first_closed(self.root.parent, user) is None:
            os.chown(self.root, -1, user.gid)
            self.root.chmod(0o710)
            return place
        if not place.is_symlink():
            elsewhere = REACHABLE / secrets.token_hex(8)
            elsewhere.mkdir(mode=0o755, parents=True)
            place.symlink_to(elsewhere / "postgres")
        return place

    def password(self) -> str:
        """Return the demo login's password; made at the first call."""
        if not self.admin_password.exists():
            write_private(self.admin_password, secrets.token_urlsafe(12))
        return self.admin_password.read_text().strip()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep a second `up` out. Raises `AlreadyStarted` with the first one's process id."""
        path = self.root / "up.lock"
        handle = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            first = os.read(handle, 20).decode().strip() or "unknown"
            os.close(handle)
            raise AlreadyStarted(
                f"`up` runs on {self.root} already (process {first}); stop it, or set another LIYAGENT_STATE_DIR"
            ) from error
        try:
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
            yield
        finally:
            path.unlink(missing_ok=True)
            os.close(handle)


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path` with mode 600, whole or not at all."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    draft.replace(path)
