"""A local Bot Framework connector over real HTTP: keys, tokens, activities, with a ledger, and the real one's manners.

It answers as `faults` say, one after the other: with an error although it accepted, with none for a long time, with 429.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, unquote

from tests.fakes.teams_channel import APP_ID, ISSUER, TENANT, Channel, public_jwk

ACTIVITIES = re.compile(r"/v3/conversations/([^/]+)/activities(?:/([^/]+))?")
SECRET = "of-the-local-connector"
# What a bot says until it has an answer. In words of our own: this runs without the product.
PLACEHOLDER = "I am on it. The answer will appear here."


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What the next request of `method` meets. With `accepts` it takes effect all the same.

    `resets` hangs up instead of answering; `seconds` is how long it lets wait first.
    """

    status: int = 500
    accepts: bool = False
    seconds: float = 0.0
    resets: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    method: str = ""
    told: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """One request of a bot as it came in, and what it was answered with; `status` 0: hung up."""

    method: str
    conversation: str
    activity_id: str
    body: dict[str, Any]
    status: int
    was_accepted: bool
    at: float


@dataclass(slots=True, kw_only=True)
class Shown:
    """A message as it stands in a conversation, and every form it had."""

    id: str
    conversation: str
    forms: list[dict[str, Any]]

    @property
    def text(self) -> str:
        """Its words as they are now."""
        return str(self.forms[-1].get("text", ""))

    @property
    def bears_answer(self) -> bool:
        """Whether it says, or ever said, anything but that an answer will come; posted so or updated."""
        return any(it.get("text", "") not in {"", PLACEHOLDER} for it in self.forms)

    @property
    def card(self) -> dict[str, Any] | None:
        """The first card that it bears now."""
        attachments = self.forms[-1].get("attachments") or []
        return attachments[0]["content"] if attachments else None

    @property
    def buttons(self) -> list[dict[str, Any]]:
        """What can be pressed on it."""
        actions = (self.card or {}).get("actions", [])
        return [it for it in actions if it["type"] == "Action.Execute"]


class _Server(ThreadingHTTPServer):
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asked may be gone: a kill. Anything else is told."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class TeamsConnector:
    """Listens on 127.0.0.1. `log` is the ledger; `shown` what stands in the conversations."""

    def __init__(self, *, port: int = 0, app_id: str = APP_ID, tenant: str = TENANT, secret: str = SECRET) -> None:  # fmt: skip
        self.app_id, self.tenant, self.secret = app_id, tenant, secret
        self.endorsements = ["msteams"]
        self.keys = ["first"]
        self.key_fetches = 0
        self.tokens_given = 0
        self.lock = threading.Lock()
        self.faults: list[Fault] = []
        self.log: list[Logged] = []
        self.shown: dict[str, Shown] = {}
        self._server = _Server(("127.0.0.1", port), _handler(self))
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def metadata_url(self) -> str:
        return f"{self.url}/v1/.well-known/openidconfiguration"

    @property
    def token_url(self) -> str:
        return f"{self.url}/{self.tenant}/oauth2/v2.0/token"

    def channel(self, **facts: Any) -> Channel:
        """What speaks to the bot of this connector."""
        return Channel(service_url=f"{self.url}/", app_id=self.app_id, tenant=self.tenant, **facts)

    def messages(self, conversation: str = "") -> list[Shown]:
        """What stands in a conversation, or in all, in the order it was posted."""
        return [it for it in self.shown.values() if conversation in {"", it.conversation}]

    def replies(self, conversation: str = "") -> list[Shown]:
        """The messages that bear an answer, or bore one: whatever says more than that one will come."""
        return [it for it in self.messages(conversation) if it.bears_answer]

    def orphans(self, conversation: str = "") -> list[Shown]:
        """The placeholders that nothing took the place of."""
        return [it for it in self.messages(conversation) if it.text and not it.bears_answer]

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": ISSUER,
            "jwks_uri": f"{self.url}/v1/.well-known/keys",
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def jwks(self) -> dict[str, Any]:
        self.key_fetches += 1
        return {"keys": [public_jwk(it, endorsements=self.endorsements) for it in self.keys]}

    def give_token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """By client credentials, as Entra."""
        is_known = form.get("client_id") == self.app_id and form.get("client_secret") == self.secret
        if not is_known or form.get("grant_type") != "client_credentials":
            return 401, {"error": "invalid_client", "error_description": "AADSTS7000215: no"}
        self.tokens_given += 1
        token = f"bot-{self.tokens_given}"
        return 200, {"token_type": "Bearer", "expires_in": 3599, "access_token": token}

    def fault_for(self, method: str) -> Fault | None:
        """Take the first fault that is meant for such a request."""
        with self.lock:
            for it in self.faults:
                if it.method in {"", method}:
                    self.faults.remove(it)
                    return it
        return None

    def accept(self, method: str, conversation: str, activity_id: str, body: dict[str, Any]) -> str:
        """Let it take effect; return the activity's id, empty where there is none to update."""
        with self.lock:
            if method == "PUT":
                if activity_id not in self.shown:
                    return ""
                self.shown[activity_id].forms.append(body)
                return activity_id
            made = f"1:{len(self.shown) + 1}-{self.port}"
            self.shown[made] = Shown(id=made, conversation=conversation, forms=[body])
            return made

    def keep(self, **facts: Any) -> None:
        with self.lock:
            self.log.append(Logged(at=time.time(), **facts))


def _handler(connector: TeamsConnector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path.endswith("openidconfiguration"):
                self.tell(200, connector.metadata())
            elif self.path.endswith("/keys"):
                self.tell(200, connector.jwks())
            else:
                self.tell(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            if self.path.endswith("/token"):
                self.tell(*connector.give_token(dict(parse_qsl(body.decode()))))
            else:
                self.take("POST", body)

        def do_PUT(self) -> None:
            self.take("PUT", self.rfile.read(int(self.headers.get("content-length", "0"))))

        def take(self, method: str, raw: bytes) -> None:
            found = ACTIVITIES.fullmatch(self.path)
            if found is None:
                self.tell(404, {"error": {"code": "NotFound", "message": self.path}})
                return
            if not self.headers.get("authorization", "").startswith("Bearer bot-"):
                self.tell(401, {"error": {"code": "Unauthorized", "message": "no token"}})
                return
            conversation, activity_id = unquote(found[1]), unquote(found[2] or "")
            body, fault = json.loads(raw), connector.fault_for(method)
            made = ""
            if fault is None or fault.accepts:
                made = connector.accept(method, conversation, activity_id, body)
            status = fault.status if fault else (200 if method == "PUT" else 201)
            if not made and fault is None:
                status = 404
            connector.keep(
                method=method,
                conversation=conversation,
                activity_id=made or activity_id,
                body=body,
                status=0 if fault and fault.resets else status,
                was_accepted=bool(made),
            )
            if fault is not None:
                time.sleep(fault.seconds)
            if fault is not None and fault.resets:
                self.close_connection = True
                return
            told = {"id": made} if fault is None and made else fault.told if fault else {}
            self.tell(status, told, **(fault.headers if fault else {}))

        def tell(self, status: int, told: dict[str, Any], **headers: str) -> None:
            body = json.dumps(told).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
            return

    return Handler
