"""One way to one remote agent, as its card says: the A2A SDK's client, over our own."""

from __future__ import annotations

from typing import Any

import httpx
import httpx2

from liyagent.core.errors import LiyagentError
from liyagent.gateway import a2a_told
from liyagent.gateway.a2a_card import Card
from liyagent.gateway.a2a_wire import Handover
from liyagent.gateway.contracts import Address
from liyagent.gateway.exchange import MISSION, STEP_KEY, Exchange
from liyagent.gateway.mcp_http import Bearer
from liyagent.gateway.mcp_session import LONGEST_TROUBLE

PAGE = 50
# A message in doubt is looked for among so many of the latest tasks.
MOST_PAGES = 10
FEW_TASKS = 20


class AgentSaid(LiyagentError):
    """An agent cannot be read: what it said."""

    code = "gateway.agent_said"


class Way:
    """What is said to one agent, and what it says."""

    def __init__(
        self, http: httpx2.AsyncClient, card: Card, bearer: Bearer, address: Address
    ) -> None:
        """Speak as `card` says, with the token of `bearer`."""
        self.bearer = bearer
        self.address = address
        self._http = http
        self._card = card

    async def ask(self, exchange: Exchange) -> dict[str, Any] | None:
        """Send the message of an exchange; return what it was answered with, None where that cannot be understood."""
        from a2a.types import Message, Part, Role, SendMessageConfiguration, SendMessageRequest  # noqa: PLC0415 - see a2a_card

        payload = exchange.payload
        message = Message(
            message_id=payload.key,
            role=Role.ROLE_USER,
            parts=[Part(text=str(payload.args.get("message", "")))],
            context_id=str(payload.args.get("context", "")),
            task_id=str(payload.args.get("task", "")),
        )
        message.metadata.update({**exchange.trace, STEP_KEY: payload.key, MISSION: payload.mission})
        configuration = SendMessageConfiguration(return_immediately=True, history_length=0)
        request = SendMessageRequest(message=message, configuration=configuration)
        try:
            async with self._speaking(exchange) as client:
                async for event in client.send_message(request):
                    if event.WhichOneof("payload") == "task":
                        return a2a_told.task_told(event.task)
                    if event.WhichOneof("payload") == "message":
                        return a2a_told.message_told(event.message)
        except _mistakes():
            return None
        finally:
            exchange.give_up("the SDK did not send it")
        return None

    async def look(self, task_id: str) -> tuple[dict[str, Any] | None, str]:
        """Return a task as it stands; or None, and why it cannot be read."""
        from a2a.types import GetTaskRequest  # noqa: PLC0415 - see a2a_card

        try:
            async with self._speaking() as client:
                task = await client.get_task(GetTaskRequest(id=task_id, history_length=0))
                return a2a_told.task_told(task), ""
        except _mistakes() as error:
            return None, f"{type(error).__name__}: {error}"[:LONGEST_TROUBLE]

    async def find(self, message_id: str) -> list[dict[str, Any]]:
        """Return the task that a message began, with its id; without one the latest tasks. Raises `AgentSaid`."""
        from a2a.types import ListTasksRequest  # noqa: PLC0415 - see a2a_card

        rows: list[dict[str, Any]] = []
        token = ""
        try:
            async with self._speaking() as client:
                for _ in range(MOST_PAGES):
                    page = await client.list_tasks(
                        ListTasksRequest(
                            page_size=PAGE if message_id else FEW_TASKS,
                            page_token=token,
                            include_artifacts=not message_id,
                        )
                    )
                    rows += [_row(it, message_id) for it in page.tasks if _is_of(it, message_id)]
                    token = page.next_page_token
                    if not token or not message_id:
                        break
        except _mistakes() as error:
            said = f"{type(error).__name__}: {error}"[:LONGEST_TROUBLE]
            raise AgentSaid(said) from error
        if message_id and len(rows) == 1:
            told, _ = await self.look(rows[0]["task"])
            return [{**(told or rows[0]), "message_id": message_id}]
        return rows

    def _speaking(self, exchange: Exchange | None = None) -> Any:
        from a2a.client import ClientConfig, ClientFactory  # noqa: PLC0415 - see a2a_card

        transport = Handover(self._http, self.bearer, exchange)
        http = httpx.AsyncClient(transport=transport, trust_env=False)
        config = ClientConfig(streaming=False, polling=True, httpx_client=http)
        return ClientFactory(config).create(self._card.parsed)


def _row(task: Any, message_id: str) -> dict[str, Any]:
    began = next((it.message_id for it in task.history if it.message_id), "")
    return {**a2a_told.task_told(task), "message_id": message_id or began}


def _is_of(task: Any, message_id: str) -> bool:
    """Whether a message is one of a task's; any task where none is asked for."""
    if not message_id:
        return True
    return any(it.message_id == message_id for it in task.history) or (
        STEP_KEY in task.metadata and task.metadata[STEP_KEY] == message_id
    )


def _mistakes() -> tuple[type[Exception], ...]:
    """What the SDK raises of an answer that is an error, or no answer."""
    from a2a.utils.errors import A2AError  # noqa: PLC0415 - see a2a_card
    from google.protobuf.json_format import ParseError  # noqa: PLC0415 - see a2a_card

    return (A2AError, ParseError, ValueError, TypeError, KeyError, AttributeError, httpx.HTTPError)
