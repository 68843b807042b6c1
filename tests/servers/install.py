"""Install tool servers that were not made here, below `.liyagent/servers`: `python -m tests.servers.install`.

They are pinned, and installed once. Ends with 1 and one line where npm, or what is to be fetched, cannot be had.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / ".liyagent" / "servers"
PYTHON_BIN = HERE / "python" / "bin"
NODE_BIN = HERE / "node" / "node_modules" / ".bin"
STAMP = HERE / "installed.json"
FROM_PYPI = (
    "mcp-server-git==2026.10.19",
    "mcp-server-time==2026.10.19",
    "mcp-server-fetch==2026.10.24",
)
FROM_NPM = (
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/server-everything@2026.8.31",
)
INSTALL_SECONDS = 600


def main() -> int:
    """Install what is not there yet; say what is wrong in one line."""
    wanted = [*FROM_PYPI, *FROM_NPM]
    if STAMP.exists() and json.loads(STAMP.read_text()) == wanted:
        return 0
    missing = [name for name in ("npm", "node", "git") if shutil.which(name) is None]
    if missing:
        _say(f"{', '.join(missing)} are needed: apt-get install npm git")
        return 1
    _say(f"installing {len(wanted)} tool servers into {HERE.relative_to(ROOT)}")
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir(parents=True)
    venv.create(HERE / "python", with_pip=True)
    pip = [str(PYTHON_BIN / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    npm = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]
    failed = _failed([*pip, *FROM_PYPI]) or _failed([*npm, str(HERE / "node"), *FROM_NPM])
    if failed:
        _say(f"the servers cannot be installed: {failed}")
        return 1
    STAMP.write_text(json.dumps(wanted))
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _failed(command: Sequence[str]) -> str:
    """Run it; the last thing that it complained of, "" where it went well."""
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ran.returncode == 0:
        return ""
    said = [line for line in (ran.stderr or ran.stdout).splitlines() if line.strip()]
    return f"{Path(command[0]).name}: {said[-1] if said else f'exit code {ran.returncode}'}"


if __name__ == "__main__":
    sys.exit(main())
