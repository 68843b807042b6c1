"""`docs/approval-webhook.md`: its receiver takes what the product sends, once, and nothing else; its tables are whole."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from liyagent.approvals.models import Notice, NoticeKind
from liyagent.core.webhook_conf import read_webhook
from liyagent.core.webhook_signing import signed_headers
from tests.docs.walk import DOCS, commands_of
from tests.fakes.webhook_receiver import Receiver
from tests.unit.approvals.conftest import held, server, world
from tests.unit.approvals.telling import SECRET, deliver, tell
from tests.unit.runs.carrying.conftest import World, calls, says

__all__ = ["held", "server", "world"]

DOCUMENT = "approval-webhook.md"
TEXT = (DOCS / DOCUMENT).read_text()
BLOCK = re.compile(r"^```(python|json)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = dict(BLOCK.findall(TEXT))
OLDER = b"o" * 24
SECRETS = {
    "both": "whsec_b29vb29vb29vb29vb29vb29vb29vb29v,whsec_c3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nz",
    "the older": "whsec_b29vb29vb29vb29vb29vb29vb29vb29v",
}
BODY = (
    b'{"type": "approval.filed", "data": {"agent": "a", "server": "s", "tool": "t", "url": null}}'
)


class Example:
    """The receiver of the document, served."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "receiver"}
        exec(compile(BLOCKS["python"], DOCUMENT, "exec"), self.names)  # noqa: S102 - what a reader is told to write
        self.told: list[dict[str, Any]] = []
        self.names["tell_people"] = self.told.append
        self.names["Receiver"].log_message = lambda *_: None
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.names["Receiver"])
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/approvals"

    def post(self, headers: dict[str, str], body: bytes = BODY) -> int:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=5)
        connection.request("POST", "/approvals", body, headers)
        return connection.getresponse().status

    def send(self, *, seconds: float = 0, body: bytes = BODY, by: bytes = SECRET) -> int:
        """Post what was signed so many seconds from now."""
        headers = signed_headers(
            webhook_id="7", timestamp=int(time.time() + seconds), body=BODY, secrets=(by,)
        )
        return self.post(headers, body)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[Example]:
    monkeypatch.setenv("WEBHOOK_SECRETS", SECRETS["both"])
    served = Example()
    yield served
    served.server.shutdown()
    served.server.server_close()


def test_its_receiver_does_each_notice_once_however_often_it_is_sent(
    held: World, example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Receiver() as unused:
        tell(unused, monkeypatch, approval_webhook_url=example.url)
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process().carry()
    assert deliver() == 1
    held.sql("UPDATE approvals_notice SET state = 'pending'")
    assert deliver() == 1
    assert [it["type"] for it in example.told] == ["approval.filed"]
    assert Notice.objects.get().state == "delivered"


@pytest.mark.parametrize("seconds", [-290, 0, 290])
def test_its_receiver_takes_what_was_signed_within_five_minutes(
    example: Example, seconds: float
) -> None:
    assert example.send(seconds=seconds) == 204


@pytest.mark.parametrize("seconds", [-310, 310, 10**15])
def test_its_receiver_refuses_what_is_played_again_later(example: Example, seconds: float) -> None:
    assert example.send(seconds=seconds) == 401
    assert example.told == []


def test_its_receiver_refuses_what_was_changed_or_signed_by_another(example: Example) -> None:
    good = signed_headers(webhook_id="7", timestamp=int(time.time()), body=BODY, secrets=(SECRET,))
    assert example.send(body=BODY.replace(b'"a"', b'"b"')) == 401
    assert example.send(by=b"x" * 24) == 401
    assert example.post({**good, "webhook-id": "8"}) == 401
    for name in good:
        assert example.post({it: value for it, value in good.items() if it != name}) == 401
    for bad in ("", "v1,", "v2," + good["webhook-signature"][3:], "\xe9"):
        assert example.post({**good, "webhook-signature": bad}) == 401
    assert example.post({**good, "webhook-timestamp": "soon"}) == 401
    assert example.told == []
    assert example.post(good) == 204


def test_its_receiver_takes_either_secret_while_one_is_replaced(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert example.send(by=OLDER) == 204
    monkeypatch.setenv("WEBHOOK_SECRETS", SECRETS["the older"])
    both = signed_headers(
        webhook_id="9", timestamp=int(time.time()), body=BODY, secrets=(SECRET, OLDER)
    )
    assert example.post(both) == 204


def test_its_receiver_has_what_it_could_not_do_come_again(example: Example) -> None:
    example.names["tell_people"] = lambda _told: 1 // 0
    example.server.handle_error = lambda *_: None  # type: ignore[method-assign] # nothing is printed
    with pytest.raises(http.client.RemoteDisconnected):
        example.send()
    example.names["tell_people"] = example.told.append
    assert example.send() == 204
    assert len(example.told) == 1


def test_its_receiver_reads_no_endless_body(example: Example) -> None:
    assert example.post({"content-length": str(10**9)}) == 413


def test_the_secret_that_it_makes_can_be_used() -> None:
    (line,) = commands_of(DOCUMENT)
    program = line.removeprefix("python3 -c '").removesuffix("'")
    made = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    env = {
        "LIYAGENT_APPROVAL_WEBHOOK_URL": "https://bridge.example.com/approvals",
        "LIYAGENT_APPROVAL_WEBHOOK_SECRETS": made.stdout,
    }
    _, (secret,) = read_webhook(env, allowed_private_hosts=())
    assert len(secret) == 32


def test_it_shows_the_facts_and_the_types_there_are(
    held: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Receiver() as receiver:
        tell(receiver, monkeypatch)
        held.start(calls(("v/keyed", {"n": 1})), says("done"))
        held.process().carry()
        deliver()
    shown, sent = json.loads(BLOCKS["json"]), receiver.received[0].told
    assert list(shown) == list(sent)
    assert list(shown["data"]) == list(sent["data"])
    named = set(re.findall(r"^\| `approval\.(\w+)` \|", TEXT, re.MULTILINE))
    assert named == set(NoticeKind.values)
