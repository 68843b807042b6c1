"""The A2A SDK's own client against our endpoint, as one of our users has it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest, Task


@dataclass(slots=True, kw_only=True)
class Sdk:
    """The SDK's client as one of our users has it, in one version of the wire."""

    port: int
    token: str
    version: str
    agent: str = "triage"

    @asynccontextmanager
    async def client(
        self, *, streaming: bool = False, polling: bool = False
    ) -> AsyncIterator[Client]:
        """A client made from our card."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx.AsyncClient(headers=headers, timeout=20, trust_env=False) as http:
            card = await A2ACardResolver(
                http, f"http://127.0.0.1:{self.port}/a2a/{self.agent}"
            ).get_agent_card()
            kept = [
                it
                for it in card.supported_interfaces
                if it.protocol_version.startswith(self.version)
            ]
            assert kept
            del card.supported_interfaces[:]
            card.supported_interfaces.extend(kept)
            config = ClientConfig(streaming=streaming, polling=polling, httpx_client=http)
            yield ClientFactory(config).create(card)


def message(text: str = "look", **facts: Any) -> SendMessageRequest:
    """A message of the text."""
    said = Message(
        message_id=facts.pop("id", "m-1"), role=Role.ROLE_USER, parts=[Part(text=text)], **facts
    )
    return SendMessageRequest(message=said)


async def sent(client: Client, request: SendMessageRequest) -> Task:
    """The task that a message is answered with."""
    (event,) = [it async for it in client.send_message(request)]
    assert event.WhichOneof("payload") == "task"
    return event.task
