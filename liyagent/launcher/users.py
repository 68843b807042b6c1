"""Who PostgreSQL runs as: ourselves, or as root an unprivileged user, since the server refuses root."""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from liyagent.launcher.errors import NoServerUser

CANDIDATES = ("postgres", "nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerUser:
    """The user and group of the server's processes and files."""

    uid: int
    gid: int

    @property
    def is_other(self) -> bool:
        """Whether the server must be started as somebody else than us."""
        return self.uid != os.geteuid()


def server_user(data_dir: Path | None = None) -> ServerUser:
    """Return who runs the server: us, or as root the owner of existing data, `postgres` or `nobody`.

    Raises `NoServerUser` if we are root and none of these exists.
    """
    if os.geteuid() != 0:
        return ServerUser(uid=os.geteuid(), gid=os.getegid())
    if data_dir is not None and data_dir.is_dir() and data_dir.stat().st_uid != 0:
        owner = data_dir.stat()
        return ServerUser(uid=owner.st_uid, gid=owner.st_gid)
    for name in CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return ServerUser(uid=entry.pw_uid, gid=entry.pw_gid)
    raise NoServerUser(
        "as root, PostgreSQL wants a user named postgres or nobody: `useradd --system postgres`"
    )


def first_closed(path: Path, user: ServerUser) -> Path | None:
    """Return the first directory on the way to `path`, itself included, that `user` may not enter."""
    for directory in (*reversed(path.resolve().parents), path.resolve()):
        if not _may_enter(directory, user):
            return directory
    return None


def _may_enter(directory: Path, user: ServerUser) -> bool:
    found = directory.stat()
    if found.st_uid == user.uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == user.gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)
