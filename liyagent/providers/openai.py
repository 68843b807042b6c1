"""Provider `openai`: every endpoint that speaks OpenAI's chat completions (OpenAI, vLLM, Ollama, ...)."""

from __future__ import annotations

import logging
import re
from typing import Any, ClassVar

import httpx2

from liyagent.providers.endpoint import EndpointClient
from liyagent.providers.event_stream import Fold
from liyagent.providers.openai_stream import OpenAIFold
from liyagent.providers.openai_wire import read_answer, request_body
from liyagent.providers.types import ModelAnswer, ModelRejected, ModelRequest

logger = logging.getLogger(__name__)

OPENAI_URL = "https://api.openai.com/v1"
# What an endpoint that does not know the first name knows the cap by. OpenAI's own newer models refuse the
# old name; many local servers pass over the new one without a word, and would not cap.
CAPS = ("max_tokens", "max_completion_tokens")
STREAM_OPTIONS = "stream_options"
REFUSALS = (400, 422)
NOT_TAKEN = re.compile(
    "unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|extra|not permitted|not allowed|invalid param|instead",
    re.IGNORECASE,
)


class OpenAIClient(EndpointClient):
    """One endpoint of chat completions with one key, and what it was seen not to take of them."""

    default_url: ClassVar[str] = OPENAI_URL
    path: ClassVar[str] = "/chat/completions"
    speaks: ClassVar[str] = "chat completions"

    def __init__(self, *, base_url: str, api_key_env: str) -> None:
        """As `EndpointClient`; nothing is known of the endpoint yet."""
        super().__init__(base_url=base_url, api_key_env=api_key_env)
        self._first_cap = CAPS[1] if self._base_url.startswith(OPENAI_URL) else CAPS[0]
        self._not_taken: set[tuple[str, str]] = set()

    def _sdk_module(self) -> Any:
        import openai  # noqa: PLC0415 - 0.6 s and 50 MB that only a process with such an agent pays

        return openai

    def _new_sdk(self, *, base_url: str, api_key: str, http_client: httpx2.Client) -> Any:
        sdk = self._sdk_module().OpenAI(
            base_url=base_url, api_key=api_key, max_retries=0, http_client=http_client
        )
        # The SDK reads these from the environment, and they would go to any endpoint.
        sdk.organization = sdk.project = sdk.admin_api_key = None
        sdk._custom_headers = {}
        return sdk

    def _create(self, sdk: Any) -> Any:
        return sdk.chat.completions.with_streaming_response.create

    def _request_body(self, request: ModelRequest) -> dict[str, Any]:
        return request_body(
            request,
            cap_name=self._cap_name(request.model),
            tells_usage=(request.model, STREAM_OPTIONS) not in self._not_taken,
        )

    def _read_answer(self, body: Any, request: ModelRequest) -> ModelAnswer:
        return read_answer(body, request)

    def _new_fold(self) -> Fold:
        return OpenAIFold()

    def _cap_name(self, model: str) -> str:
        other = CAPS[1 - CAPS.index(self._first_cap)]
        return other if (model, self._first_cap) in self._not_taken else self._first_cap

    def _has_learned_from(self, error: ModelRejected, request: ModelRequest) -> bool:
        """Leave out, or call by its other name, what a refusal says by name that it does not take."""
        said = error.detail
        if error.status not in REFUSALS or not NOT_TAKEN.search(said):
            return False
        sent = self._request_body(request)
        for name in (self._first_cap, STREAM_OPTIONS):
            if name in sent and re.search(rf"\b{name}\b", said):
                self._not_taken.add((request.model, name))
                logger.warning(
                    "model %s of %s does not take %s; it is asked otherwise from here on",
                    request.model,
                    self._base_url,
                    name,
                )
                return True
        return False
