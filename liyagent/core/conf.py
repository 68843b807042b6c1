"""Settings, read once from the environment into a frozen dataclass, failing with the name and what it wants."""

from __future__ import annotations

import base64
import binascii
import contextlib
import math
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from liyagent.core.errors import BadSetting
from liyagent.core.roots_conf import RootsConf, read_roots
from liyagent.core.ticket_conf import TicketConf, read_tickets
from liyagent.core.traces_conf import TracesConf, read_traces
from liyagent.core.webhook_conf import read_webhook

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})
SEAL_KEY_BYTES = 32
SECRET_CHARACTERS = 50
MOST_DIGITS = 18
# A process that carries one run has some 160 MB of its own.
LEAST_CARRY_MEMORY_MB = 384
OURS = ("LIYAGENT_", "TICKETIQ_", "DATABASE_URL")
# The column that a run keeps it in holds 64.
KEY_ID = re.compile(r"[A-Za-z0-9_]{1,64}")
HOST = re.compile(r"[A-Za-z0-9._:\[\]-]{1,253}")
ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?")
# What a header can carry as a bearer token (RFC 6750), long enough not to be guessed.
TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{32,200}")
LOOPBACK = "127.0.0.1,localhost"
DAY_SECONDS, HOUR_SECONDS = 86_400.0, 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conf:
    """Every documented setting. Durations are seconds; names on the right of `read_conf` are literal."""

    debug: bool
    secret_key: str
    allowed_hosts: tuple[str, ...]
    https: bool
    proxies: int
    allowed_origins: tuple[str, ...]
    state_dir: Path
    database_url: str
    direct_database_url: str
    owner_database_url: str
    seal_keys: tuple[tuple[str, bytes], ...]
    digest_key: bytes
    run_slots: int
    lease_seconds: float
    sweep_seconds: float
    watch_seconds: float
    poll_seconds: float
    late_look_seconds: float
    drain_seconds: float
    carry_memory_mb: int
    approval_seconds: float
    approval_reminder_seconds: float
    approve_own_requests: bool
    approval_webhook_url: str
    approval_webhook_secrets: tuple[bytes, ...]
    public_url: str
    allow_unsafe_durability: bool
    allowed_private_hosts: tuple[str, ...]
    scripts_dir: Path
    commands_file: Path | None
    hook_modules: tuple[str, ...]
    source_roots: tuple[Path, ...]
    prices_file: Path | None
    crash_resume_entries: bool
    answer_seconds: float
    run_events_enabled: bool
    run_events_retention_days: int
    saga_handoff: str
    undo_backoff_seconds: float
    replay_parallel: int
    routine_min_support: int
    routine_suggest: str
    routine_fallback_rate: float
    log_level: str
    metrics_token: str
    roots: RootsConf
    traces: TracesConf | None
    tickets: TicketConf | None


def read_conf(env: Mapping[str, str] | None = None, *, base_dir: Path) -> Conf:
    """Read and check all settings. Raises `BadSetting` that names the variable and what it wants."""
    env = os.environ if env is None else env
    _check_text(env)
    state_dir = Path(env.get("LIYAGENT_STATE_DIR") or base_dir / ".liyagent")
    # A shell beside `make up`: the database that it left word of is a development's, on this very machine.
    is_beside_up = not env.get("DATABASE_URL", "").strip() and _word_left(state_dir).is_file()
    debug = _flag(env, "LIYAGENT_DEBUG", default=is_beside_up)
    database_url = _database_url(env, state_dir)
    private_hosts = _hosts(
        env, "LIYAGENT_ALLOWED_PRIVATE_HOSTS", default=LOOPBACK if is_beside_up else ""
    )
    webhook_url, webhook_secrets = read_webhook(env, allowed_private_hosts=private_hosts)
    return Conf(
        debug=debug,
        secret_key=_secret(env, "LIYAGENT_SECRET_KEY", debug=debug, path=state_dir / "secret-key"),
        allowed_hosts=_names(env, "LIYAGENT_ALLOWED_HOSTS", default="localhost,127.0.0.1,[::1]"),
        https=_flag(env, "LIYAGENT_HTTPS", default=not debug),
        proxies=_whole(env, "LIYAGENT_PROXIES", default=0, low=0, high=10),
        allowed_origins=_origins(env, "LIYAGENT_ALLOWED_ORIGINS"),
        state_dir=state_dir,
        database_url=database_url,
        direct_database_url=_other_url(env, "LIYAGENT_DIRECT_DATABASE_URL") or database_url,
        owner_database_url=_other_url(env, "LIYAGENT_OWNER_DATABASE_URL"),
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
        carry_memory_mb=_whole_or_none(
            env, "LIYAGENT_CARRY_MEMORY_MB", low=LEAST_CARRY_MEMORY_MB, high=1_000_000
        ),
        approval_seconds=_number(env, "LIYAGENT_APPROVAL_DAYS", default=7, low=0, high=3_650)
        * DAY_SECONDS,
        approval_reminder_seconds=_number(
            env, "LIYAGENT_APPROVAL_REMINDER_HOURS", default=24, low=0, high=87_600
        )
        * HOUR_SECONDS,
        approve_own_requests=_flag(env, "LIYAGENT_APPROVE_OWN_REQUESTS", default=False),
        approval_webhook_url=webhook_url,
        approval_webhook_secrets=webhook_secrets,
        public_url=_public_url(env),
        allow_unsafe_durability=_flag(env, "LIYAGENT_ALLOW_UNSAFE_DURABILITY", default=False),
        allowed_private_hosts=private_hosts,
        hook_modules=_modules(env, "LIYAGENT_HOOK_MODULES"),
        scripts_dir=_scripts_dir(env) or base_dir / "liyagent" / "demo" / "scripts",
        commands_file=_commands_file(env),
        prices_file=_prices_file(env, default=_demo_prices(base_dir) if is_beside_up else None),
        source_roots=_source_roots(env),
        crash_resume_entries=_flag(env, "TICKETIQ_CRASH_RESUME_ENTRIES", default=True),
        answer_seconds=_number(env, "LIYAGENT_ANSWER_DAYS", default=7, low=0, high=3_650)
        * DAY_SECONDS,
        run_events_enabled=_flag(env, "TICKETIQ_RUN_EVENTS_ENABLED", default=True),
        run_events_retention_days=_whole(
            env, "TICKETIQ_RUN_EVENTS_RETENTION_DAYS", default=365, low=0, high=36_500
        ),
        saga_handoff=_choice(
            env, "TICKETIQ_SAGA_HANDOFF", default="approval", of=("approval", "ticket", "none")
        ),
        undo_backoff_seconds=_number(
            env, "LIYAGENT_UNDO_BACKOFF_SECONDS", default=2, low=0, high=3600
        ),
        replay_parallel=_whole(env, "LIYAGENT_REPLAY_PARALLEL", default=8, low=1, high=64),
        routine_min_support=_whole(
            env, "TICKETIQ_ROUTINE_MIN_SUPPORT", default=3, low=2, high=10_000
        ),
        routine_suggest=_choice(
            env, "TICKETIQ_ROUTINE_SUGGEST", default="list", of=("list", "queue", "off")
        ),
        routine_fallback_rate=_number(
            env, "LIYAGENT_ROUTINE_FALLBACK_RATE", default=0.5, low=0, high=1
        ),
        log_level=_choice(
            env, "LIYAGENT_LOG_LEVEL", default="INFO", of=("DEBUG", "INFO", "WARNING", "ERROR")
        ),
        metrics_token=_token(env, "LIYAGENT_METRICS_TOKEN"),
        roots=read_roots(env, allowed_private_hosts=private_hosts),
        traces=read_traces(env),
        tickets=read_tickets(env),
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
    is_short_number = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
    if not (is_short_number and low <= int(text) <= high):
        raise BadSetting(f"{name} is {text[:80]!r}; it wants a whole number from {low} to {high}")
    return int(text)


def _whole_or_none(env: Mapping[str, str], name: str, *, low: int, high: int) -> int:
    """A whole number from `low` on, or 0 for none."""
    value = _whole(env, name, default=0, low=0, high=high)
    if 0 < value < low:
        raise BadSetting(
            f"{name} is {value}; it wants 0 for none, or a number from {low} to {high}"
        )
    return value


def _token(env: Mapping[str, str], name: str) -> str:
    """A bearer token of ours, empty where none is set."""
    token = env.get(name, "").strip()
    if token and not TOKEN.fullmatch(token):
        raise BadSetting(
            f"{name} cannot be used; it wants 32 to 200 random letters, digits and any of - . _ ~ + / ="
        )
    return token


def _names(env: Mapping[str, str], name: str, *, default: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in env.get(name, default).split(",") if part.strip())


def _origins(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    found = _names(env, name, default="")
    for origin in found:
        if not ORIGIN.fullmatch(origin):
            raise BadSetting(
                f"{name} has {origin[:80]!r}; it wants origins such as https://liyagent.example.com, "
                "with commas between"
            )
    return found


def _public_url(env: Mapping[str, str]) -> str:
    """Where people reach the console, empty where it is not said."""
    url = env.get("LIYAGENT_PUBLIC_URL", "").strip()
    if url and not ORIGIN.fullmatch(url):
        raise BadSetting(
            "LIYAGENT_PUBLIC_URL cannot be used; it wants an origin such as https://liyagent.example.com"
        )
    return url


def _choice(env: Mapping[str, str], name: str, *, default: str, of: tuple[str, ...]) -> str:
    text = env.get(name, "").strip() or default
    value = next((it for it in of if it.lower() == text.lower()), None)
    if value is None:
        raise BadSetting(f"{name} is {text[:80]!r}; it wants one of {', '.join(of)}")
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
    return _checked_url("DATABASE_URL", url)


def _other_url(env: Mapping[str, str], name: str) -> str:
    url = env.get(name, "").strip()
    return _checked_url(name, url) if url else ""


def _checked_url(name: str, url: str) -> str:
    """Refuse what libpq would refuse, without the password that may stand in it."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in {"postgresql", "postgres"} and parts.path.strip("/") != ""
        is_usable = is_usable and parts.port != 0
        conninfo_to_dict(url)
    except (ValueError, ProgrammingError):
        is_usable = False
    if not is_usable:
        raise BadSetting(f"{name} wants postgresql://user:password@host:port/name")
    return url


def _scripts_dir(env: Mapping[str, str]) -> Path | None:
    text = env.get("LIYAGENT_SCRIPTS_DIR", "")
    if text and not Path(text).is_dir():
        raise BadSetting(f"LIYAGENT_SCRIPTS_DIR is {text!r}; it wants a directory that exists")
    return Path(text) if text else None


def _demo_prices(base_dir: Path) -> Path | None:
    """What the processes of `make up` count with, for a shell beside them."""
    path = base_dir / "liyagent" / "demo" / "prices.yaml"
    return path if path.is_file() else None


def _prices_file(env: Mapping[str, str], *, default: Path | None) -> Path | None:
    """Where models' prices stand; what stands in it is read by `liyagent/providers/prices.py`."""
    text = env.get("LIYAGENT_PRICES_FILE")
    if text is None:
        return default
    text = text.strip()
    if text and not Path(text).is_file():
        raise BadSetting(f"LIYAGENT_PRICES_FILE is {text!r}; it wants a file that exists")
    return Path(text).absolute() if text else None


def _source_roots(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Directories, with commas between, that sources of folders may lie below; resolved, so that a link leads nowhere else."""
    found = _names(env, "LIYAGENT_SOURCE_ROOTS", default="")
    for root in found:
        if not (root.startswith("/") and Path(root).is_dir() and Path(root).resolve() != Path("/")):
            raise BadSetting(
                f"LIYAGENT_SOURCE_ROOTS has {root[:200]!r}; it wants absolute directories that exist, not /, "
                "with commas between"
            )
    return tuple(Path(root).resolve() for root in found)


def _modules(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    found = _names(env, name, default="")
    for module in found:
        if not all(part.isidentifier() for part in module.split(".")):
            raise BadSetting(
                f"{name} has {module!r}; it wants names of Python modules, with commas between"
            )
    return found


def _commands_file(env: Mapping[str, str]) -> Path | None:
    text = env.get("LIYAGENT_COMMANDS_FILE", "")
    if text and not Path(text).is_file():
        raise BadSetting(f"LIYAGENT_COMMANDS_FILE is {text!r}; it wants a file that exists")
    return Path(text).absolute() if text else None


def _hosts(env: Mapping[str, str], name: str, *, default: str) -> tuple[str, ...]:
    found = _names(env, name, default=default)
    for entry in found:
        if not _is_host_or_network(entry):
            raise BadSetting(
                f"{name} has {entry!r}; it wants host names, addresses and networks such as "
                "db.internal, 10.1.2.3 or 10.1.0.0/16, with commas between"
            )
    return found


def _is_host_or_network(entry: str) -> bool:
    if "/" not in entry:
        return HOST.fullmatch(entry) is not None
    try:
        ip_network(entry, strict=False)
    except ValueError:
        return False
    return True


def _check_text(env: Mapping[str, str]) -> None:
    """Bytes that are not UTF-8 stand in the environment as lone surrogates, which nothing later takes."""
    for name, value in env.items():
        if name.startswith(OURS) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise BadSetting(f"{name} is not UTF-8; it wants text") from None


def _word_left(state_dir: Path) -> Path:
    """Where a running `make up` leaves the address of its embedded database."""
    return state_dir / "database-url"


def _secret(env: Mapping[str, str], name: str, *, debug: bool, path: Path) -> str:
    value = env.get(name, "")
    if value and (debug or len(value) >= SECRET_CHARACTERS):
        return value
    if not debug:
        is_what = "too short" if value else "not set"
        raise BadSetting(
            f"{name} is {is_what}; it wants {SECRET_CHARACTERS} random characters, kept secret"
        )
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
    ring = tuple(_seal_key(part.strip()) for part in text.split(","))
    if len({name for name, _ in ring}) != len(ring):
        raise BadSetting("LIYAGENT_SEAL_KEYS names one key id twice; each id wants one key")
    return ring


def _seal_key(part: str) -> tuple[str, bytes]:
    name, _, encoded = part.partition(":")
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not KEY_ID.fullmatch(name) or len(key) != SEAL_KEY_BYTES:
        raise BadSetting(
            "LIYAGENT_SEAL_KEYS wants id:base64-of-32-bytes[,older-id:...], each id of 1 to 64 letters, "
            "digits and _"
        )
    return name, key


def new_seal_key() -> str:
    """Return a fresh `id:base64` for LIYAGENT_SEAL_KEYS."""
    return (
        f"k{secrets.token_hex(4)}:{base64.b64encode(secrets.token_bytes(SEAL_KEY_BYTES)).decode()}"
    )


def _development_secret(path: Path, *, make: Callable[[], str]) -> str:
    """Return the secret kept at `path`, made once with mode 600; of two processes at once, one makes it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            handle, draft = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "w") as file:
                file.write(make())
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
            os.unlink(draft)
        return path.read_text().strip()
    except OSError as error:
        raise BadSetting(
            f"LIYAGENT_STATE_DIR is {str(path.parent)!r}; it wants a directory to write to: {error.strerror}"
        ) from None
