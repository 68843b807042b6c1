"""The channel's signing keys: fetched when one is not known, at most once a minute whatever storms in."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from liyagent.core.errors import LiyagentError
from liyagent.entry.teams.addresses import is_safe_address
from liyagent.entry.teams.errors import KeysAway
from liyagent.entry.teams.fetch import fetch

logger = logging.getLogger(__name__)

FETCH_SECONDS = 5.0
BETWEEN_SECONDS = 60.0
# Looked at anew after a day, as the channel asks for, and used no longer than two.
FRESH_SECONDS, USED_SECONDS = 86_400.0, 2 * 86_400.0
LEAST_BITS = 2048
MOST_KEYS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A public key, and the channels it may vouch for."""

    public: RSAPublicKey
    endorsements: frozenset[str]


class SigningKeys:
    """The keys behind one OpenID metadata address, as this process knows them. For any thread."""

    def __init__(self, metadata_url: str) -> None:
        """Nothing is fetched before a key is asked for."""
        self.metadata_url = metadata_url
        self._keys: Mapping[str, SigningKey] = {}
        self._fetched_at = 0.0
        self._tried_at: float | None = None
        self._lock = Lock()

    def find(self, key_id: str) -> SigningKey | None:
        """Return a key by its id, None where the channel has none such. Raises `KeysAway`."""
        if key_id not in self._keys or self._age() > FRESH_SECONDS:
            with self._lock:
                if key_id not in self._keys or self._age() > FRESH_SECONDS:
                    self._refresh()
        if not self._keys or self._age() > USED_SECONDS:
            raise KeysAway(f"the keys of {self.metadata_url} cannot be read; the log says why")
        return self._keys.get(key_id)

    def keep_fresh(self) -> None:
        """Have them before anybody waits for one; as often as `find` would fetch them."""
        if not self._keys or self._age() > FRESH_SECONDS:
            with self._lock:
                self._refresh()

    def _age(self) -> float:
        return time.monotonic() - self._fetched_at

    def _refresh(self) -> None:
        """Fetch them, unless that was tried within the last minute; what cannot be read leaves those there are."""
        now = time.monotonic()
        if self._tried_at is not None and now - self._tried_at < BETWEEN_SECONDS:
            return
        self._tried_at = now
        try:
            self._keys = read_keys(self.metadata_url)
        except LiyagentError as error:
            logger.warning("the signing keys of %s cannot be read: %s", self.metadata_url, error)
            return
        self._fetched_at = time.monotonic()


_known: dict[str, SigningKeys] = {}


def signing_keys(metadata_url: str) -> SigningKeys:
    """Return this process's keys behind an address; there are as many as saved bots name."""
    return _known.setdefault(metadata_url, SigningKeys(metadata_url))


def forget_keys() -> None:
    """Know none, as a process that begins."""
    _known.clear()


def read_keys(metadata_url: str) -> dict[str, SigningKey]:
    """Fetch the keys behind an address now, by their ids. Raises `KeysAway`, `FetchFailed`."""
    metadata = fetch("GET", metadata_url, seconds=FETCH_SECONDS)
    address = metadata.said.get("jwks_uri")
    if metadata.status != 200 or not isinstance(address, str) or not is_safe_address(address):
        raise KeysAway(f"the metadata, status {metadata.status}, names no jwks_uri to be used")
    found = fetch("GET", address, seconds=FETCH_SECONDS)
    listed = found.said.get("keys")
    if found.status != 200 or not isinstance(listed, list):
        raise KeysAway(f"{address} answered {found.status} without keys")
    keys = dict(pair for it in listed[:MOST_KEYS] if (pair := _key(it)))
    if not keys:
        raise KeysAway(f"{address} has no RSA key of {LEAST_BITS} bits or more")
    return keys


def _key(told: Any) -> tuple[str, SigningKey] | None:
    """A key for signatures by RS256, None for any other."""
    if not isinstance(told, dict) or told.get("kty") != "RSA" or told.get("use", "sig") != "sig":
        return None
    key_id, endorsements = told.get("kid"), told.get("endorsements", [])
    if not isinstance(key_id, str) or not isinstance(endorsements, list):
        return None
    try:
        public = jwt.PyJWK(told, algorithm="RS256").key
    except jwt.PyJWTError:
        return None
    if not isinstance(public, RSAPublicKey) or public.key_size < LEAST_BITS:
        return None
    return key_id, SigningKey(public=public, endorsements=frozenset(map(str, endorsements)))
