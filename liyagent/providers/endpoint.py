"""One model step over HTTP, the same for every provider: time, size, streams, and errors in our words."""

from __future__ import annotations

import json
import threading
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any, ClassVar

import httpx2

from liyagent.core.addresses import ForbiddenAddress
from liyagent.core.environment import read_secret
from liyagent.core.errors import BadInput
from liyagent.core.outbound import guarded_client
from liyagent.core.plain import NotJson, NotStorable, parse_json, to_plain
from liyagent.providers.endpoint_errors import from_connection, from_error_body, from_status
from liyagent.providers.event_stream import Fold, event_data
from liyagent.providers.patience import Patience, check_running, timed_out, waiting
from liyagent.providers.shapes import excerpt
from liyagent.providers.types import (
    AnswerUnwanted,
    ModelAnswer,
    ModelClient,
    ModelRejected,
    ModelRequest,
    ModelUnavailable,
)

CONNECT_SECONDS = 10.0
MOST_ANSWER_BYTES = 16 << 20
# Each piece of a stream repeats what frames it.
MOST_STREAM_BYTES = 64 << 20
EVENT_STREAM = "text/event-stream"
END_OF_STREAM = "[DONE]"
# The SDKs want a key; local servers have none and ignore this one.
NO_KEY = "none"
KEY_NAME = "api_key_env"


class EndpointClient(ModelClient):
    """One endpoint with one key; threads share it, its connections and nothing else."""

    default_url: ClassVar[str]
    path: ClassVar[str]
    """What the SDK puts behind base_url."""
    speaks: ClassVar[str]
    """The format, for a person."""

    def __init__(self, *, base_url: str, api_key_env: str) -> None:
        """`base_url` ends before `path` (by default the vendor's); `api_key_env` names the key, or is ""."""
        self._base_url = base_url or self.default_url
        self._api_key_env = api_key_env
        self._lock = threading.Lock()
        self._sdk: Any = None

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Make one model step, sent once. Raises `ModelUnavailable`, or `ModelRejected` saying what to do."""
        sdk = self._client()
        patience = Patience(request)
        while True:
            try:
                body = self._exchange(sdk, request, patience)
            except ModelRejected as error:
                if not self._has_learned_from(error, request):
                    raise
                continue
            if isinstance(body, dict) and body.get("error") and not body.get("choices"):
                raise from_error_body(body["error"], path=self.path)
            return self._read_answer(body, request)

    @abstractmethod
    def _sdk_module(self) -> Any:
        """Import the SDK, which names its errors as all of its maker do."""

    @abstractmethod
    def _new_sdk(self, *, base_url: str, api_key: str, http_client: httpx2.Client) -> Any:
        """Return the SDK's client: no retries, nothing from the environment."""

    @abstractmethod
    def _create(self, sdk: Any) -> Any:
        """Return the SDK's function that makes a request and leaves the answer to be read."""

    @abstractmethod
    def _request_body(self, request: ModelRequest) -> dict[str, Any]: ...

    @abstractmethod
    def _read_answer(self, body: Any, request: ModelRequest) -> ModelAnswer: ...

    @abstractmethod
    def _new_fold(self) -> Fold: ...

    def _has_learned_from(self, error: ModelRejected, request: ModelRequest) -> bool:
        """Whether a refusal told how the endpoint wants to be asked instead; each thing is learned once."""
        del error, request
        return False

    def _client(self) -> Any:
        with self._lock:
            if self._sdk is None:
                self._sdk = self._new_client()
            return self._sdk

    def _new_client(self) -> Any:
        if not self._base_url.startswith(("http://", "https://")):
            raise ModelRejected(
                f"base_url is {self._base_url!r}; it wants http:// or https:// and ends before {self.path}"
            )
        try:
            return self._new_sdk(
                base_url=self._base_url,
                api_key=read_secret(self._api_key_env) if self._api_key_env else NO_KEY,
                http_client=guarded_client(while_reading=check_running),
            )
        except BadInput as error:
            raise ModelRejected(f"{KEY_NAME}: {error}") from None
        except httpx2.InvalidURL as error:
            raise ModelRejected(f"base_url is {self._base_url!r}: {error}") from None

    def _exchange(self, sdk: Any, request: ModelRequest, patience: Patience) -> Any:
        """Send the request; return the body of the answer, also where it came as a stream."""
        left = patience.left_seconds
        timeout = httpx2.Timeout(left, connect=min(CONNECT_SECONDS, left))
        try:
            body = to_plain(self._request_body(request))
        except NotStorable as error:
            raise ModelRejected(f"the request cannot be sent: {error}") from None
        create = self._create(sdk)
        with (
            waiting(patience),
            self._our_errors(request),
            create(**body, timeout=timeout) as response,
        ):
            if EVENT_STREAM in response.headers.get("content-type", ""):
                pieces = _bounded(response.iter_bytes(), MOST_STREAM_BYTES, patience)
                return self._streamed(pieces, patience)
            content = b"".join(_bounded(response.iter_bytes(), MOST_ANSWER_BYTES, patience))
        return self._parsed(content)

    def _streamed(self, pieces: Iterator[bytes], patience: Patience) -> Any:
        fold = self._new_fold()
        for data in event_data(pieces):
            if data.strip() == END_OF_STREAM:
                break
            event = _event(data)
            if event.get("error"):
                raise from_error_body(event["error"], path=self.path)
            fold.add(event)
            if fold.is_over:
                break
        if not fold.is_finished:
            raise ModelUnavailable(
                "the model's answer ended early: its stream did not say why the model stopped"
            )
        patience.shorten()
        with suppress(ModelUnavailable, AnswerUnwanted, httpx2.HTTPError):
            for _ in pieces:  # read to its end, so that the connection can be used again
                pass
        return _plain(fold.body())

    def _parsed(self, content: bytes) -> Any:
        try:
            return parse_json(content, limit_bytes=MOST_ANSWER_BYTES)
        except NotJson:
            said = excerpt(content.decode(errors="replace"))
            if not content.strip() or content.lstrip()[:1] == b"{":
                raise ModelUnavailable(
                    f"the model's answer ended early: {said}", status=HTTPStatus.OK
                ) from None
            raise ModelRejected(
                f"{self._base_url} answers, but not with {self.speaks}; is base_url right? It said: {said}",
                status=HTTPStatus.OK,
            ) from None
        except NotStorable as error:
            raise _not_kept(error) from None

    @contextmanager
    def _our_errors(self, request: ModelRequest) -> Iterator[None]:
        sdk = self._sdk_module()
        try:
            yield
        except (sdk.APITimeoutError, httpx2.TimeoutException):
            raise timed_out(request) from None
        except sdk.APIStatusError as error:
            raise from_status(error.response, model=request.model, path=self.path) from None
        except sdk.APIConnectionError as error:
            cause = error.__cause__ or error
            if isinstance(cause, ModelUnavailable | AnswerUnwanted):
                raise cause from None
            raise from_connection(cause) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ForbiddenAddress) as error:
            raise from_connection(error) from None


def _bounded(pieces: Iterable[bytes], most_bytes: int, patience: Patience) -> Iterator[bytes]:
    """Yield what comes, within the step's time and the bound."""
    size = 0
    for piece in pieces:
        patience.heard()
        patience.check()
        size += len(piece)
        if size > most_bytes:
            raise ModelUnavailable(f"the model's answer is larger than {most_bytes} bytes")
        yield piece


def _event(data: str) -> dict[str, Any]:
    # Made plain once all is there: the halves of a character may come in two events.
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        raise ModelUnavailable(
            f"the model's answer holds a piece that cannot be read: {excerpt(data)}"
        ) from None
    if not isinstance(event, dict):
        raise ModelUnavailable(f"the model's answer holds a piece of no shape: {excerpt(data)}")
    return event


def _plain(body: dict[str, Any]) -> Any:
    try:
        return to_plain(body, limit_bytes=MOST_ANSWER_BYTES)
    except NotStorable as error:
        raise _not_kept(error) from None


def _not_kept(error: NotStorable) -> ModelUnavailable:
    return ModelUnavailable(f"the model's answer cannot be kept: {error}")
