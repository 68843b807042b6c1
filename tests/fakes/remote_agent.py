"""An agent of somebody else's, on the A2A SDK's own server, with a ledger; it misbehaves when told to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message, Part, Role
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.fakes.tool_server import LOOK_SECONDS, Effect, ToolServer

CARD_PATH = "/.well-known/agent-card.json"


@dataclass(slots=True)
class RemoteAgent(ToolServer):
    """The agent. What a message begins with says what becomes of its task; by itself it is completed.

    `wait` works until `go_on` is set, `fail`, `reject` and `ask` end or want something, `talk` answers without a task,
    `data` answers with data and a file. `on_ask` is called before it acts, `on_card` before its card is
    told. `card` is served in place of the real one; `versions` are those that it speaks.
    """

    versions: tuple[str, ...] = ("1.0",)
    description: str = "Looks after disks."
    card: bytes = b""
    card_status: int = 200
    interface_url: str = ""
    answer: str = ""
    cards_read: int = 0
    on_ask: Callable[[str], None] = field(default=lambda _text: None)
    on_card: Callable[[], None] = field(default=lambda: None)
    go_on: threading.Event = field(default_factory=threading.Event)
    store: TaskStore = field(default_factory=InMemoryTaskStore)

    @property
    def url(self) -> str:
        """The address of its card."""
        return f"http://127.0.0.1:{self.port}{CARD_PATH}"

    @property
    def asked(self) -> list[Effect]:
        """Each message that it acted on."""
        return self.effects("ask")

    def sent(self) -> list[dict[str, Any]]:
        """The parameters of each message that arrived."""
        names = {"SendMessage", "message/send"}
        return [it["params"] for it in self.received if it["method"] in names]

    def _app(self) -> ASGIApp:
        handler = DefaultRequestHandler(
            agent_executor=_Executor(self), task_store=self.store, agent_card=self.real_card()
        )
        return Starlette(
            routes=[
                Route(CARD_PATH, self._serve_card),
                *create_jsonrpc_routes(handler, "/a2a", enable_v0_3_compat=True),
            ]
        )

    async def _serve_card(self, request: Request) -> Response:
        self.cards_read += 1
        await asyncio.to_thread(self.on_card)
        self.tokens.append(request.headers.get("authorization", ""))
        if self.card or self.card_status != 200:
            headers = {"location": "/elsewhere"} if self.card_status == 302 else {}
            return Response(self.card, self.card_status, headers, "application/json")
        (route,) = create_agent_card_routes(self.real_card())
        answer: Response = await route.endpoint(request)
        return answer

    def real_card(self) -> AgentCard:
        """Its card as it stands now."""
        url = self.interface_url or f"http://127.0.0.1:{self.port}/a2a"
        return AgentCard(
            name="Disks",
            description=self.description,
            version="1",
            supported_interfaces=[
                AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=it)
                for it in self.versions
            ],
            capabilities=AgentCapabilities(streaming=True),
            default_input_modes=["text/plain"],
            default_output_modes=["text/plain"],
            skills=[
                AgentSkill(
                    id="disk", name="disk", description="Says how full one is.", tags=["disk"]
                )
            ],
        )


class _Executor(AgentExecutor):
    def __init__(self, agent: RemoteAgent) -> None:
        self.agent = agent

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        await asyncio.to_thread(self.agent.on_ask, text)
        assert context.message is not None
        meta = {**MessageToDict(context.message.metadata), "id": context.message.message_id}
        self.agent.ledger.append(Effect(tool="ask", args={"message": text}, meta=meta))
        if text.startswith("talk"):
            talk = Message(message_id="m", role=Role.ROLE_AGENT, parts=[Part(text="hello")])
            await event_queue.enqueue_event(talk)
            return
        assert context.task_id is not None
        assert context.context_id is not None
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        if context.current_task is None:
            await _begun(context, event_queue)
        await task.start_work()
        await self._carry(text, task)

    async def _carry(self, text: str, task: TaskUpdater) -> None:
        def says(words: str) -> Message:
            return task.new_agent_message([Part(text=words)])

        if text.startswith("fail"):
            await task.failed(says("the disk is gone"))
        elif text.startswith("reject"):
            await task.reject(says("not my disk"))
        elif text.startswith("ask"):
            await task.requires_input(says("which disk?"))
        else:
            while text.startswith("wait") and not self.agent.go_on.is_set():
                await asyncio.sleep(LOOK_SECONDS)
            parts = [Part(text=self.agent.answer or f"done: {text}")]
            if text.startswith("data"):
                more = Part(url="http://169.254.169.254/f", filename="f", media_type="text/plain")
                shown = Part()
                shown.data.struct_value.update({"free": 7})
                parts += [shown, more]
            await task.add_artifact(parts)
            await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id is not None
        assert context.context_id is not None
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def _begun(context: RequestContext, event_queue: EventQueue) -> None:
    from a2a.helpers import new_task_from_user_message  # noqa: PLC0415

    assert context.message is not None
    assert context.task_id is not None
    assert context.context_id is not None
    task = new_task_from_user_message(context.message)
    task.id, task.context_id = context.task_id, context.context_id
    await event_queue.enqueue_event(task)
