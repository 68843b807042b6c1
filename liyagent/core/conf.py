"""Settings, read once from the environment into a frozen dataclass, failing with the name and what it wants."""

from __future__ import annotations

import base64
import binascii
import contextlib
import math
import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from liyagent.core.errors import BadSetting

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})
SEAL_KEY_BYTES = 32
LOOPBACK = "127.0.0.1,localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conf:
    """Every documented setting. Durations are seconds; names on the right of `read_conf` are literal."""

    debug: bool
    secret_key: str
    allowed_hosts: tuple[str, ...]
    state_dir: Path
    database_url: str
    direct_database_url: str
    seal_keys: tuple[tuple[str, bytes], ...]
    digest_key: bytes
    run_slots: int
    lease_seconds: float
    sweep_seconds: float
    watch_seconds: float
    poll_seconds: float
    late_look_seconds: float
    drain_seconds: float
    allow_unsafe_durability: bool
    allowed_private_hosts: tuple[str, ...]
    scripts_dir: Path
    crash_resume_entries: bool
    run_events_enabled: bool
    run_events_retention_days: int
    log_level: str


def read_conf(env: Mapping[str, str] | None = None, *, base_dir: Path) -> Conf:
    """Read and check all settings. Raises `BadSetting` that names the variable and what it wants."""
    env = os.environ if env is None else env
    state_dir = Path(env.get("LIYAGENT_STATE_DIR") or base_dir / ".liyagent")
    # A shell beside `make up`: the database that it left word of is a development's, on this very machine.
    is_beside_up = not env.get("DATABASE_URL", "").strip() and _word_left(state_dir).is_file()
    debug = _flag(env, "LIYAGENT_DEBUG", default=is_beside_up)
    database_url = _database_url(env, state_dir)
    return Conf(
        debug=debug,
        secret_key=_secret(env, "LIYAGENT_SECRET_KEY", debug=debug, path=state_dir / "secret-key"),
        allowed_hosts=_names(env, "LIYAGENT_ALLOWED_HOSTS", default="localhost,127.0.0.1,[::1]"),
        state_dir=state_dir,
        database_url=database_url,
        direct_database_url=env.get("LIYAGENT_DIRECT_DATABASE_URL") or database_url,
        seal_keys=_seal_keys(env, debug=debug, path=state_dir / "seal-keys"),
        digest_key=env.get("LIYAGENT_DIGEST_KEY", "").encode(),
        run_slots=_whole(env, "LIYAGENT_RUN_SLOTS", default=64, low=1, high=10_000),
        lease_seconds=_number(env, "LIYAGENT_LEASE_SECONDS", default=8.0, low=0.2, high=600),
        sweep_seconds=_number(env, "LIYAGENT_SWEEP_SECONDS", default=3.0, low=0.05, high=600),
        watch_seconds=_number(env, "LIYAGENT_WATCH_SECONDS", default=0.3, low=0.02, high=60),
        poll_seconds=_number(env, "LIYAGENT_POLL_SECONDS", default=0.5, low=0.02, high=60),
        late_look_seconds=_number(
            env, "LIYAGENT_LATE_LOOK_SECONDS", default=60.0, low=0.05, high=86_400
        ),
        drain_seconds=_number(env, "LIYAGENT_DRAIN_SECONDS", default=25.0, low=0, high=3_600),
        allow_unsafe_durability=_flag(env, "LIYAGENT_ALLOW_UNSAFE_DURABILITY", default=False),
        allowed_private_hosts=_names(
            env, "LIYAGENT_ALLOWED_PRIVATE_HOSTS", default=LOOPBACK if is_beside_up else ""
        ),
        scripts_dir=Path(
            env.get("LIYAGENT_SCRIPTS_DIR") or base_dir / "liyagent" / "demo" / "scripts"
        ),
        crash_resume_entries=_flag(env, "TICKETIQ_CRASH_RESUME_ENTRIES", default=True),
        run_events_enabled=_flag(env, "TICKETIQ_RUN_EVENTS_ENABLED", default=True),
        run_events_retention_days=_whole(
            env, "TICKETIQ_RUN_EVENTS_RETENTION_DAYS", default=365, low=0, high=36_500
        ),
        log_level=_choice(
            env, "LIYAGENT_LOG_LEVEL", default="INFO", of=("DEBUG", "INFO", "WARNING", "ERROR")
        ),
    )


def _flag(env: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = env.get(name, "").strip().lower()
    if not value:
        return default
    if value in TRUE:
        return True
    if value in FALSE:
        return False
    raise BadSetting(f"{name} is {value!r}; it wants true or false")


def _number(env: Mapping[str, str], name: str, *, default: float, low: float, high: float) -> float:
    text = env.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise BadSetting(f"{name} is {text!r}; it wants a number from {low} to {high}")
    return value


def _whole(env: Mapping[str, str], name: str, *, default: int, low: int, high: int) -> int:
    text = env.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
        raise BadSetting(f"{name} is {text!r}; it wants a whole number from {low} to {high}")
    return int(text)


def _names(env: Mapping[str, str], name: str, *, default: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in env.get(name, default).split(",") if part.strip())


def _choice(env: Mapping[str, str], name: str, *, default: str, of: tuple[str, ...]) -> str:
    value = env.get(name, "").strip().upper() or default
    if value not in of:
        raise BadSetting(f"{name} is {value!r}; it wants one of {', '.join(of)}")
    return value


def _database_url(env: Mapping[str, str], state_dir: Path) -> str:
    """DATABASE_URL, else the address that a running embedded database left in the state directory."""
    url = env.get("DATABASE_URL", "").strip()
    left = _word_left(state_dir)
    if not url and left.is_file():
        url = left.read_text().strip()
    if not url:
        raise BadSetting(
            "DATABASE_URL is not set and no embedded database is running; "
            "it wants postgresql://user:password@host:port/name, or start one with `make up`"
        )
    if not url.startswith(("postgresql://", "postgres://")):
        raise BadSetting("DATABASE_URL wants postgresql://user:password@host:port/name")
    return url


def _word_left(state_dir: Path) -> Path:
    """Where a running `make up` leaves the address of its embedded database."""
    return state_dir / "database-url"


def _secret(env: Mapping[str, str], name: str, *, debug: bool, path: Path) -> str:
    value = env.get(name, "")
    if value:
        return value
    if not debug:
        raise BadSetting(f"{name} is not set; it wants 50 random characters, kept secret")
    return _development_secret(path, make=lambda: secrets.token_urlsafe(48))


def _seal_keys(env: Mapping[str, str], *, debug: bool, path: Path) -> tuple[tuple[str, bytes], ...]:
    """`id:base64,id:base64`: the first seals, all open."""
    text = env.get("LIYAGENT_SEAL_KEYS", "").strip()
    if not text:
        if not debug:
            raise BadSetting(
                "LIYAGENT_SEAL_KEYS is not set; it wants id:base64-of-32-bytes[,older-id:...], "
                "for example from `python -m liyagent.core.newkey`"
            )
        text = _development_secret(path, make=new_seal_key)
    ring = tuple(_seal_key(part.strip()) for part in text.split(",") if part.strip())
    if len({name for name, _ in ring}) != len(ring):
        raise BadSetting("LIYAGENT_SEAL_KEYS names one key id twice; each id wants one key")
    return ring


def _seal_key(part: str) -> tuple[str, bytes]:
    name, _, encoded = part.partition(":")
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not name.isidentifier() or len(key) != SEAL_KEY_BYTES:
        raise BadSetting(
            "LIYAGENT_SEAL_KEYS wants id:base64-of-32-bytes, ids of letters, digits and _"
        )
    return name, key


def new_seal_key() -> str:
    """Return a fresh `id:base64` for LIYAGENT_SEAL_KEYS."""
    return (
        f"k{secrets.token_hex(4)}:{base64.b64encode(secrets.token_bytes(SEAL_KEY_BYTES)).decode()}"
    )


def _development_secret(path: Path, *, make: Callable[[], str]) -> str:
    """Return the secret kept at `path`, made once with mode 600; of two processes at once, one makes it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            file.write(make())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        os.unlink(draft)
    return path.read_text().strip()
