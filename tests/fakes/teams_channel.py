"""The channel's half that speaks to bots: its signing keys, its tokens, its activities, sent over real HTTP."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)  # fmt: skip

ISSUER = "https://api.botframework.com"
APP_ID = "5f0a9d5e-54e8-4d5c-9a3e-7d2f1f0c1a11"
TENANT = "0c3c6a70-21a8-4c6f-8a1e-2f7de6a2b001"
PERSON = "a3c1e5d0-7f5f-4a6a-8d53-2f4b0a1d9e01"
ANSWER_SECONDS = 20


_MAKING = Lock()
_KEPT: dict[str, RSAPrivateKey] = {}


def private_key(name: str = "first") -> RSAPrivateKey:
    """One for each name, made once a process, whichever threads ask for it at once."""
    with _MAKING:
        return _KEPT.get(name) or _made(name)


def kept_key(path: Path) -> str:
    """Return the name of the key in a file, made where there is none: processes that know it go on knowing it."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        made = _made(path.name)
        path.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    key = load_pem_private_key(path.read_bytes(), password=None)
    assert isinstance(key, RSAPrivateKey)
    name = f"kept-{key.public_key().public_numbers().n % 16**8:08x}"
    _KEPT[name] = key
    return name


@cache
def _made(_name: str) -> RSAPrivateKey:
    return generate_private_key(public_exponent=65537, key_size=2048)


def public_jwk(name: str, *, endorsements: list[str]) -> dict[str, Any]:
    """The key as the channel publishes it."""
    told = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(private_key(name).public_key()))
    return {**told, "use": "sig", "kid": name, "x5t": name, "endorsements": endorsements}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a bot answered an activity with, and after how long."""

    status_code: int
    headers: dict[str, str]
    content: bytes
    seconds: float

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(slots=True, kw_only=True)
class Channel:
    """What a bot of this app id is sent. `service_url` is where it answers."""

    service_url: str
    app_id: str = APP_ID
    tenant: str = TENANT
    person: str = PERSON
    conversation: str = "a:1xB7-conversation"
    # Seconds that the clock of tokens is ahead of this process's: where the database's is, in tests.
    ahead: float = 0.0
    threads: list[threading.Thread] = field(default_factory=list)

    def token(self, *, key: str = "first", kid: str = "", algorithm: str = "RS256", **claims: Any) -> str:  # fmt: skip
        """A token as the channel gives it out; a claim of None is left out."""
        now = int(time.time() + self.ahead)
        known = {
            "iss": ISSUER,
            "aud": self.app_id,
            "iat": now,
            "nbf": now - 300,
            "exp": now + 3600,
            "serviceurl": self.service_url,
            **claims,
        }
        kept = {name: value for name, value in known.items() if value is not None}
        secret: Any = private_key(key) if algorithm.startswith("RS") else "s" * 64
        return jwt.encode(kept, secret, algorithm=algorithm, headers={"kid": kid or key})

    def activity(self, kind: str = "message", **facts: Any) -> dict[str, Any]:
        """An activity as Teams sends it, with an id of its own."""
        return {
            "type": kind,
            "id": f"1{uuid4().int % 10**12:012d}",
            "timestamp": "2026-11-30T02:00:00.000Z",
            "channelId": "msteams",
            "serviceUrl": self.service_url,
            "from": {"id": "29:1abc", "name": "Kim", "aadObjectId": self.person},
            "conversation": {
                "id": self.conversation,
                "conversationType": "personal",
                "tenantId": self.tenant,
            },
            "recipient": {"id": f"28:{self.app_id}", "name": "Liyagent"},
            "channelData": {"tenant": {"id": self.tenant}},
            "locale": "en-US",
            **facts,
        }

    def message(self, text: str, **facts: Any) -> dict[str, Any]:
        """What a person says to the bot."""
        return self.activity("message", text=text, textFormat="plain", **facts)

    def press(self, button: dict[str, Any], *, card: str = "", reason: str = "", **facts: Any) -> dict[str, Any]:  # fmt: skip
        """A button of a card, pressed: as Teams sends Action.Execute."""
        action = {
            "type": "Action.Execute",
            "verb": button["verb"],
            "data": {**button["data"], "reason": reason},
        }
        value = {"action": action, "trigger": "manual"}
        return self.activity(
            "invoke", name="adaptiveCard/action", value=value, replyToId=card, **facts
        )

    def send(self, app: str, activity: dict[str, Any], *, token: str | None = None) -> Answered:
        """Send an activity to the app at `app`, such as `http://127.0.0.1:8001`."""
        bearer = self.token() if token is None else token
        headers = {"authorization": f"Bearer {bearer}", "content-type": "application/json"}
        connection = HTTPConnection(app.removeprefix("http://"), timeout=ANSWER_SECONDS)
        began = time.monotonic()
        try:
            connection.request("POST", "/api/messages", json.dumps(activity), headers)
            answer = connection.getresponse()
            return Answered(
                status_code=answer.status,
                headers={name.lower(): value for name, value in answer.getheaders()},
                content=answer.read(),
                seconds=time.monotonic() - began,
            )
        finally:
            connection.close()

    def resend_later(self, app: str, activity: dict[str, Any], *, seconds: float = 15.0) -> None:
        """Send an activity once more on a thread of its own, as the channel does after 15 s."""

        def again() -> None:
            time.sleep(seconds)
            self.send(app, activity)

        thread = threading.Thread(target=again, daemon=True)
        thread.start()
        self.threads.append(thread)
