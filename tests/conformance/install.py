"""Install the suite, and the Node that it needs, below `.liyagent/conformance`; pinned, and once."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / ".liyagent" / "conformance"
NODE = HERE / "node" / "node_modules" / "node" / "bin" / "node"
NODE_PACKAGE = "node@22.23.3"
# The latest release, and the first of the next that knows the protocol of 2026-07-28.
VERSIONS = ("0.1.16", "0.2.0-alpha.12")
STAMP = HERE / "installed.json"
INSTALL_SECONDS = 600


class NotInstalled(Exception):
    """What is missing, in one line."""


def install() -> None:
    """Install what is not there yet. Raises `NotInstalled`."""
    wanted = [NODE_PACKAGE, *VERSIONS]
    if STAMP.exists() and json.loads(STAMP.read_text()) == wanted:
        return
    if shutil.which("npm") is None:
        raise NotInstalled("npm is needed: apt-get install npm")
    shutil.rmtree(HERE, ignore_errors=True)
    _install(HERE / "node", NODE_PACKAGE)
    for version in VERSIONS:
        _install(HERE / version, f"@modelcontextprotocol/conformance@{version}")
    STAMP.write_text(json.dumps(wanted))


def suite(version: str) -> list[str]:
    """Return the command that begins the suite of a version."""
    program = HERE / version / "node_modules" / "@modelcontextprotocol" / "conformance"
    return [str(NODE), str(program / "dist" / "index.js")]


def _install(place: Path, package: str) -> None:
    place.mkdir(parents=True)
    (place / "package.json").write_text('{"private": true}')
    command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]
    try:
        ran = subprocess.run(
            [*command, str(place), package],
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{package} cannot be installed: {error}") from None
    if ran.returncode:
        said = [it for it in (ran.stderr or ran.stdout).splitlines() if it.strip()]
        why = said[-1] if said else f"npm ended with {ran.returncode}"
        raise NotInstalled(f"{package} cannot be installed: {why}")
