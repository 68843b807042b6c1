"""Provider `anthropic`: every endpoint that speaks Anthropic's messages."""

from __future__ import annotations

from typing import Any, ClassVar

import httpx2

from liyagent.providers.anthropic_stream import AnthropicFold
from liyagent.providers.anthropic_wire import read_answer, request_body
from liyagent.providers.endpoint import EndpointClient
from liyagent.providers.event_stream import Fold
from liyagent.providers.types import ModelAnswer, ModelRequest

ANTHROPIC_URL = "https://api.anthropic.com"


class AnthropicClient(EndpointClient):
    """One endpoint of messages with one key."""

    default_url: ClassVar[str] = ANTHROPIC_URL
    path: ClassVar[str] = "/v1/messages"
    speaks: ClassVar[str] = "Anthropic's messages"

    def _sdk_module(self) -> Any:
        import anthropic  # noqa: PLC0415 - 1.7 s and 78 MB that only a process with such an agent pays

        return anthropic

    def _new_sdk(self, *, base_url: str, api_key: str, http_client: httpx2.Client) -> Any:
        sdk = self._sdk_module().Anthropic(
            base_url=base_url,
            api_key=api_key,
            max_retries=0,
            http_client=http_client,
            open_telemetry=False,
        )
        # The SDK reads these from the environment, and they would go to any endpoint.
        sdk._custom_headers = {}
        return sdk

    def _create(self, sdk: Any) -> Any:
        return sdk.messages.with_streaming_response.create

    def _request_body(self, request: ModelRequest) -> dict[str, Any]:
        return request_body(request)

    def _read_answer(self, body: Any, request: ModelRequest) -> ModelAnswer:
        return read_answer(body, request)

    def _new_fold(self) -> Fold:
        return AnthropicFold()
