"""A sender of webhooks, written from the Standard Webhooks specification 1.0.0 and from what GitHub documents.

It shares no line with the product. As a program it sends a file: `python -m tests.fakes.signer --help`.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import hmac
import http.client
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """What a receiver answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The parsed body."""
        return json.loads(self.body)


def new_secret(length: int = 32) -> str:
    """Return a fresh secret in the specification's form."""
    return "whsec_" + base64.b64encode(os.urandom(length)).decode()


def standard_headers(
    body: bytes, *, secrets: Sequence[str], message: str, at: int
) -> dict[str, str]:
    """Sign `{id}.{timestamp}.{body}` with HMAC-SHA-256 by each secret; several signatures stand one after another."""
    signatures = []
    for secret in secrets:
        key = base64.b64decode(secret.split("_", 1)[1])
        to_sign = message.encode() + b"." + str(at).encode() + b"." + body
        digest = hmac.digest(key, to_sign, "sha256")
        signatures.append("v1," + base64.b64encode(digest).decode())
    return {
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(signatures),
    }


def hub_headers(
    body: bytes, *, secret: str, header: str = "X-Hub-Signature-256", prefix: str = "sha256="
) -> dict[str, str]:
    """Sign the body alone, in hexadecimal."""
    return {header: prefix + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


@dataclass(slots=True, kw_only=True)
class Signer:
    """Sends to one address. `ahead`: how far its clock is ahead of this machine's."""

    url: str
    secrets: Sequence[str]
    ahead: float = 0.0

    def send(
        self, payload: Any, *, message: str, age: float = 0.0, headers: dict[str, str] | None = None
    ) -> Replied:
        """Sign a payload as message `message`, `age` seconds ago, and send it; headers given stand instead of ours."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        at = int(time.time() + self.ahead - age)
        signed = standard_headers(body, secrets=self.secrets, message=message, at=at)
        return post(self.url, body, {**signed, **(headers or {})})

    def hang_up(self, payload: Any, *, message: str) -> None:
        """Send, and be gone before anything is answered."""
        body = json.dumps(payload).encode()
        at = int(time.time() + self.ahead)
        signed = standard_headers(body, secrets=self.secrets, message=message, at=at)
        _asked(self.url, body, signed).close()


def post(url: str, body: bytes, headers: dict[str, str]) -> Replied:
    """Send a body as it is."""
    connection = _asked(url, body, headers)
    try:
        response = connection.getresponse()
        told = {name.lower(): value for name, value in response.getheaders()}
        return Replied(status=response.status, headers=told, body=response.read())
    finally:
        connection.close()


def _asked(url: str, body: bytes, headers: dict[str, str]) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    connection.request("POST", parts.path, body, {"content-type": "application/json", **headers})
    return connection


def main() -> None:
    """Send a file, or standard input, and print what was answered."""
    parser = argparse.ArgumentParser(description="Send a file as a signed webhook.")
    parser.add_argument("url")
    parser.add_argument("file", help="- for standard input")
    parser.add_argument("--secret-env", action="append", required=True, help="the variable with the secret")  # fmt: skip
    parser.add_argument("--id", default="", help="webhook-id; without it the body alone is signed, as GitHub does")  # fmt: skip
    given = parser.parse_args()
    body = sys.stdin.buffer.read() if given.file == "-" else open(given.file, "rb").read()  # noqa: SIM115
    secrets = [os.environ[name] for name in given.secret_env]
    headers = (
        standard_headers(body, secrets=secrets, message=given.id, at=int(time.time()))
        if given.id
        else hub_headers(body, secret=secrets[0])
    )
    replied = post(given.url, body, headers)
    sys.stdout.write(f"HTTP {replied.status} {replied.body.decode()}\n")


if __name__ == "__main__":
    main()
