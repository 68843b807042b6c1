"""The settings of roots: how often the record is sealed, by which keys it is signed, where roots are exported to."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from liyagent.core.addresses import WEB_ADDRESS, is_web_address
from liyagent.core.errors import BadSetting

SECONDS, KEYS = "LIYAGENT_ROOT_SECONDS", "LIYAGENT_SIGNING_KEY"
RETIRED = "LIYAGENT_RETIRED_SIGNING_KEYS"
EXPORT, TOKEN = "LIYAGENT_ROOTS_EXPORT", "LIYAGENT_ROOTS_EXPORT_TOKEN"
DEFAULT_SECONDS, LEAST_SECONDS, MOST_SECONDS = 60.0, 0.2, 86_400.0
SEED_BYTES = 32
LONGEST_TARGET = 2_000
KEY_ID = re.compile(r"[A-Za-z0-9_]{1,64}")
PUBLIC_KEY = re.compile(r"[0-9a-f]{64}")
BEARER = re.compile(r"[A-Za-z0-9._~+/=-]{1,2000}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RootsConf:
    """`export` is an absolute directory or a web address, empty for none. Of `signing_keys` the first signs.

    `retired_keys` are public halves, in hex, of keys that signed and are gone.
    """

    seconds: float = DEFAULT_SECONDS
    export: str = ""
    token: str = field(default="", repr=False)
    signing_keys: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    retired_keys: tuple[str, ...] = ()

    @property
    def is_web(self) -> bool:
        """Whether roots are exported to a web address."""
        return self.export.startswith(("http://", "https://"))


def read_roots(env: Mapping[str, str], *, allowed_private_hosts: Collection[str]) -> RootsConf:
    """Read them. Raises `BadSetting`, which tells no key, and no address: a presigned one is as good as a password."""
    export, token = env.get(EXPORT, "").strip(), env.get(TOKEN, "").strip()
    conf = RootsConf(
        seconds=_seconds(env),
        export=export,
        token=token,
        signing_keys=_keys(env),
        retired_keys=_retired(env),
    )
    if conf.is_web:
        is_usable = is_web_address(export, allowed=allowed_private_hosts) and "?" not in export
    else:
        is_usable = not export or (export.startswith("/") and "\x00" not in export)
    if not is_usable or len(export) > LONGEST_TARGET:
        raise BadSetting(
            f"{EXPORT} cannot be used; it wants an absolute directory, or {WEB_ADDRESS} and no question mark"
        )
    if token and not (conf.is_web and BEARER.fullmatch(token)):
        raise BadSetting(
            f"{TOKEN} cannot be used; it wants a bearer token, and a web address in {EXPORT}"
        )
    return conf


def _seconds(env: Mapping[str, str]) -> float:
    text = env.get(SECONDS, "").strip() or str(DEFAULT_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise BadSetting(
            f"{SECONDS} is {text[:80]!r}; it wants a number from {LEAST_SECONDS} to {MOST_SECONDS:.0f}"
        )
    return seconds


def _keys(env: Mapping[str, str]) -> tuple[tuple[str, bytes], ...]:
    text = env.get(KEYS, "").strip()
    ring = tuple(_key(part.strip()) for part in text.split(",")) if text else ()
    if len({name for name, _ in ring}) != len(ring):
        raise BadSetting(f"{KEYS} names one key id twice; each id wants one key")
    return ring


def _retired(env: Mapping[str, str]) -> tuple[str, ...]:
    text = env.get(RETIRED, "").strip()
    keys = tuple(it.strip() for it in text.split(",")) if text else ()
    if not all(PUBLIC_KEY.fullmatch(it) for it in keys):
        raise BadSetting(
            f"{RETIRED} wants public keys of 64 digits 0-9a-f, as `manage.py events key` prints them, with commas between"
        )
    return keys


def _key(part: str) -> tuple[str, bytes]:
    name, _, encoded = part.partition(":")
    try:
        seed = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        seed = b""
    if not KEY_ID.fullmatch(name) or len(seed) != SEED_BYTES:
        raise BadSetting(
            f"{KEYS} wants id:base64-of-32-bytes[,older-id:...], each id of 1 to 64 letters, digits and _"
        )
    return name, seed
