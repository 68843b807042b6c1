"""An agent of somebody else's that asks ours, over real HTTP; it holds each answer against the protocol's shapes."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.fakes.a2a_shapes import check_error, check_result

NEW = {
    "send": "SendMessage",
    "stream": "SendStreamingMessage",
    "get": "GetTask",
    "cancel": "CancelTask",
    "subscribe": "SubscribeToTask",
}
OLD = {
    "send": "message/send",
    "stream": "message/stream",
    "get": "tasks/get",
    "cancel": "tasks/cancel",
    "subscribe": "tasks/resubscribe",
}


class Refused(Exception):
    """The protocol's error; `told` is the whole of it."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told["message"])
        self.code, self.told = told["code"], told


@dataclass(slots=True, kw_only=True)
class A2aClient:
    """Speaks 1.0, or 0.3 where `is_old`."""

    port: int
    token: str
    is_old: bool = False
    agent: str = "triage"
    ids: list[str] = field(default_factory=list)

    def message(self, text: str, **facts: Any) -> dict[str, Any]:
        """A message in the version's form."""
        part = {"kind": "text", "text": text} if self.is_old else {"text": text}
        return self.of([part], **facts)

    def decision(self, task: dict[str, Any], decision: str, reason: str) -> dict[str, Any]:
        """The answer to a task that waits for a person: about the first thing it shows."""
        ((shown,),) = [it["data"]["approvals"] for it in task["status"]["message"]["parts"] if "data" in it]  # fmt: skip
        data = {
            "approval": shown["approval"],
            "digest": shown["digest"],
            "decision": decision,
            "reason": reason,
        }
        part = {"kind": "data", "data": data} if self.is_old else {"data": data}
        return self.of([part], taskId=task["id"])

    def of(self, parts: list[dict[str, Any]], **facts: Any) -> dict[str, Any]:
        """A message of these parts."""
        known = {"messageId": str(uuid4()), "role": "user" if self.is_old else "ROLE_USER"}
        kind = {"kind": "message"} if self.is_old else {}
        return {**kind, **known, "parts": parts, **facts}

    def send(
        self, message: dict[str, Any], *, waits: bool = True, **configuration: Any
    ) -> dict[str, Any]:
        """Send a message, and return its task."""
        now = {"blocking": waits} if self.is_old else {"returnImmediately": not waits}
        params = {"message": message, "configuration": {**now, **configuration}}
        result = self.call("send", params)
        task: dict[str, Any] = result if self.is_old else result["task"]
        return task

    def hang_up(self, message: dict[str, Any]) -> None:
        """Send a message, and be gone before the answer."""
        self._open(self._method("send"), {"message": message}, {}).close()

    def card(self) -> dict[str, Any]:
        """The card that anybody may read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", f"/a2a/{self.agent}/.well-known/agent-card.json")
        response = connection.getresponse()
        assert response.status == 200
        card: dict[str, Any] = json.loads(response.read())
        return card

    def get(self, task_id: str, **facts: Any) -> dict[str, Any]:
        """Get a task."""
        task: dict[str, Any] = self.call("get", {"id": task_id, **facts})
        return task

    def cancel(self, task_id: str) -> dict[str, Any]:
        """Cancel a task."""
        task: dict[str, Any] = self.call("cancel", {"id": task_id})
        return task

    def state(self, task: dict[str, Any]) -> str:
        """The state of a task or a status update, as 0.3 writes it."""
        state: str = task["status"]["state"]
        return state.removeprefix("TASK_STATE_").lower().replace("_", "-")

    def call(self, name: str, params: dict[str, Any], **headers: str) -> Any:
        """Call a method, by its name here or the protocol's own. Raises `Refused`."""
        method = self._method(name)
        response = self._post(method, params, headers)
        assert response.status == 200, response.read()
        assert response.headers["Content-Type"] == "application/json"
        return self._result(method, json.loads(response.read()))

    def stream(
        self, name: str, params: dict[str, Any], **headers: str
    ) -> Iterator[tuple[str, Any]]:
        """Yield what a stream says with the id of its event, until it ends. Raises `Refused`."""
        method = self._method(name)
        response = self._post(method, params, headers)
        assert response.status == 200, response.read()
        if response.headers["Content-Type"] == "application/json":
            self._result(method, json.loads(response.read()))
        assert response.headers["Content-Type"] == "text/event-stream"
        number = ""
        try:
            while line := response.readline().decode():
                name, _, value = line.rstrip("\n").partition(": ")
                if name == "id":
                    number = value
                elif name == "data":
                    yield number, self._result(method, json.loads(value))
                    number = ""
        finally:
            response.close()

    def _method(self, name: str) -> str:
        return (OLD if self.is_old else NEW).get(name, name)

    def _post(
        self, method: str, params: dict[str, Any], headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        return self._open(method, params, headers).getresponse()

    def _open(
        self, method: str, params: dict[str, Any], headers: dict[str, str]
    ) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        body = {"jsonrpc": "2.0", "id": f"r-{uuid4()}", "method": method, "params": params}
        self.ids.append(str(body["id"]))
        version = {} if self.is_old else {"A2A-Version": "1.0"}
        named = {it.replace("_", "-"): value for it, value in headers.items()}
        known = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        connection.request(
            "POST", f"/a2a/{self.agent}", json.dumps(body), {**known, **version, **named}
        )
        return connection

    def _result(self, method: str, told: dict[str, Any]) -> Any:
        assert told["jsonrpc"] == "2.0"
        assert told["id"] in self.ids
        if "error" in told:
            check_error(told["error"])
            raise Refused(told["error"])
        check_result(method, told["result"])
        return told["result"]
