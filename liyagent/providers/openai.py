"""Provider `openai`: every endpoint that speaks OpenAI's chat completions (OpenAI, vLLM, Ollama, ...)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2

from liyagent.core.addresses import ForbiddenAddress
from liyagent.core.environment import read_secret
from liyagent.core.errors import BadInput
from liyagent.core.outbound import guarded_client
from liyagent.core.plain import NotJson, NotStorable, parse_json, to_plain
from liyagent.providers.endpoint_errors import from_connection, from_error_body, from_status
from liyagent.providers.openai_wire import excerpt, read_answer, request_body
from liyagent.providers.types import (
    ModelAnswer,
    ModelClient,
    ModelRejected,
    ModelRequest,
    ModelUnavailable,
)

if TYPE_CHECKING:
    import openai

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 10.0
MOST_ANSWER_BYTES = 16 << 20
# The SDK wants a key; local servers have none and ignore this one.
NO_KEY = "none"


class OpenAIClient(ModelClient):
    """One endpoint with one key; threads share it, its connections and nothing else."""

    def __init__(self, *, base_url: str, api_key_env: str) -> None:
        """`base_url` ends before `/chat/completions` (by default OpenAI's); `api_key_env` names the key, or is ""."""
        self._base_url = base_url or OPENAI_URL
        self._api_key_env = api_key_env
        self._lock = threading.Lock()
        self._sdk: openai.OpenAI | None = None

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Make one model step, sent once. Raises `ModelUnavailable`, or `ModelRejected` saying what to do."""
        sdk = self._client()
        body = self._parsed(self._exchange(sdk, request))
        if isinstance(body, dict) and body.get("error") and not body.get("choices"):
            raise from_error_body(body["error"])
        return read_answer(body, request)

    def _client(self) -> openai.OpenAI:
        with self._lock:
            if self._sdk is None:
                self._sdk = self._new_client()
            return self._sdk

    def _new_client(self) -> openai.OpenAI:
        import openai  # noqa: PLC0415 - 0.6 s and 50 MB that only a process with such an agent pays

        if not self._base_url.startswith(("http://", "https://")):
            raise ModelRejected(
                f"base_url is {self._base_url!r}; it wants http:// or https:// and ends before /chat/completions"
            )
        try:
            key = read_secret(self._api_key_env) if self._api_key_env else NO_KEY
            sdk = openai.OpenAI(
                base_url=self._base_url, api_key=key, max_retries=0, http_client=guarded_client()
            )
        except BadInput as error:
            raise ModelRejected(f"api_key_env: {error}") from None
        except httpx2.InvalidURL as error:
            raise ModelRejected(f"base_url is {self._base_url!r}: {error}") from None
        # The SDK reads these from the environment, and they would go to any endpoint.
        sdk.organization = sdk.project = None
        return sdk

    def _exchange(self, sdk: openai.OpenAI, request: ModelRequest) -> bytes:
        until = time.monotonic() + request.timeout_seconds
        timeout = httpx2.Timeout(
            request.timeout_seconds, connect=min(CONNECT_SECONDS, request.timeout_seconds)
        )
        try:
            body = to_plain(request_body(request))
        except NotStorable as error:
            raise ModelRejected(f"the request cannot be sent: {error}") from None
        create = sdk.chat.completions.with_streaming_response.create
        with _our_errors(request), create(**body, timeout=timeout) as response:
            return _read(response.iter_bytes(), until=until, request=request)

    def _parsed(self, content: bytes) -> Any:
        try:
            return parse_json(content, limit_bytes=MOST_ANSWER_BYTES)
        except NotJson:
            said = excerpt(content.decode(errors="replace"))
            if not content.strip() or content.lstrip()[:1] == b"{":
                raise ModelUnavailable(f"the model's answer ended early: {said}") from None
            raise ModelRejected(
                f"{self._base_url} answers, but not with chat completions; is base_url right? It said: {said}"
            ) from None
        except NotStorable as error:
            raise ModelUnavailable(f"the model's answer cannot be kept: {error}") from None


def _read(chunks: Iterator[bytes], *, until: float, request: ModelRequest) -> bytes:
    """Read all within the step's time: a server that sends a byte now and then would never time out."""
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > MOST_ANSWER_BYTES:
            raise ModelUnavailable(f"the model's answer is larger than {MOST_ANSWER_BYTES} bytes")
        if time.monotonic() > until:
            raise _timed_out(request)
    return bytes(content)


@contextmanager
def _our_errors(request: ModelRequest) -> Iterator[None]:
    import openai  # noqa: PLC0415 - loaded already by whoever comes here

    try:
        yield
    except (openai.APITimeoutError, httpx2.TimeoutException):
        raise _timed_out(request) from None
    except openai.APIStatusError as error:
        raise from_status(error.response, model=request.model) from None
    except openai.APIConnectionError as error:
        raise from_connection(error.__cause__ or error) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, ForbiddenAddress) as error:
        raise from_connection(error) from None


def _timed_out(request: ModelRequest) -> ModelUnavailable:
    return ModelUnavailable(f"the model did not answer within {request.timeout_seconds:g} s")
