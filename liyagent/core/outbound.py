"""The one HTTP client for every URL that a row can hold: providers, servers, webhooks, remote agents (ruling 35).

A host is resolved once and the connection goes to the address that was checked, so that a second answer
of its name server changes nothing; TLS and the Host header keep the name. HTTP/1.1 only, no proxy and no
credentials from the environment, no redirects, no retries.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import anyio
import httpcore2
import httpx2
from django.conf import settings

from liyagent.core.addresses import ForbiddenAddress, check_addresses, is_inside

BeforeSend = Callable[[httpx2.Request], None]
WhileReading = Callable[[], None]

SCHEMES = ("http", "https")
PORTS = 1 << 16
# The connection stands and is this request's alone; its first byte is the next thing to be written.
BEFORE_FIRST_BYTE = "http11.send_request_headers.started"
TIMEOUT_SECONDS = 30.0
READING_SLICE_SECONDS = 0.1
MOST_CONNECTIONS = 200
LIMITS = httpx2.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=64)
# Servers close what is idle after two seconds (gunicorn) or five (uvicorn, Node), and a write that is sent as they do is in
# doubt for nothing. Tool servers are asked over a connection that is new or was used just now.
TOOLS_IDLE_SECONDS = 1.0


def guarded_client(
    *,
    allowed_private_hosts: Collection[str] | None = None,
    before_send: BeforeSend | None = None,
    while_reading: WhileReading | None = None,
    timeout_seconds: float | None = TIMEOUT_SECONDS,
    headers: dict[str, str] | None = None,
    ssl_context: ssl.SSLContext | None = None,
) -> httpx2.Client:
    """Return a client that raises `ForbiddenAddress` for a host inside our own network.

    `allowed_private_hosts` lifts that for host names, addresses and networks; by default the setting
    LIYAGENT_ALLOWED_PRIVATE_HOSTS, read when a connection is made. `before_send` is called with each
    request once its connection stands and before its first byte is written; what it raises reaches the
    caller, nothing of the request leaves, and other requests of the client are not disturbed.
    `while_reading` is called ten times a second while an answer is waited for, in the thread that waits;
    what it raises closes the connection and reaches the caller.
    """
    guard = _Guard(allowed_private_hosts, before_send, while_reading)
    transport = GuardedTransport(guard, verify=ssl_context or True)
    return httpx2.Client(
        transport=transport, timeout=timeout_seconds, headers=headers, trust_env=False
    )


def guarded_async_client(
    *,
    allowed_private_hosts: Collection[str] | None = None,
    before_send: BeforeSend | None = None,
    timeout_seconds: float | None = TIMEOUT_SECONDS,
    headers: dict[str, str] | None = None,
    ssl_context: ssl.SSLContext | None = None,
) -> httpx2.AsyncClient:
    """Return the asynchronous twin of `guarded_client`; `before_send` stays an ordinary function."""
    guard = _Guard(allowed_private_hosts, before_send)
    transport = GuardedAsyncTransport(guard, verify=ssl_context or True)
    return httpx2.AsyncClient(
        transport=transport, timeout=timeout_seconds, headers=headers, trust_env=False
    )


@dataclass(frozen=True, slots=True)
class _Guard:
    """What both clients ask: may this address be reached, may this request leave."""

    allowed_private_hosts: Collection[str] | None
    before_send: BeforeSend | None
    while_reading: WhileReading | None = None

    def addresses(self, host: str, found: Iterable[Any]) -> list[str]:
        allowed = self.allowed_private_hosts
        if allowed is None:
            allowed = settings.LIYAGENT.allowed_private_hosts
        return check_addresses(host, [str(entry[4][0]) for entry in found], allowed=allowed)

    def check_url(self, request: httpx2.Request) -> None:
        if request.url.scheme not in SCHEMES:
            raise ForbiddenAddress(
                f"{request.url.scheme!r} is no scheme to call; it wants http or https"
            )
        if request.url.port is not None and not 0 < request.url.port < PORTS:
            raise ForbiddenAddress(f"{request.url.port} is no port; it wants one from 1 to 65535")
        if request.url.userinfo:
            raise ForbiddenAddress("an address with a user in it is not called")
        if is_inside(request.url.host, allowed=self.allowed_private_hosts):
            raise ForbiddenAddress(
                f"{request.url.host} is inside a network and not on the internet; if it is meant to be "
                f"reached, add it to LIYAGENT_ALLOWED_PRIVATE_HOSTS"
            )

    def trace(self, request: httpx2.Request) -> Callable[[str, Any], None]:
        before_send = self.before_send
        earlier = request.extensions.get("trace")

        def on_event(name: str, info: Any) -> None:
            if earlier is not None:
                earlier(name, info)
            # Last, with nothing else before the write.
            if name == BEFORE_FIRST_BYTE and before_send is not None:
                before_send(request)

        return on_event

    def async_trace(self, request: httpx2.Request) -> Callable[[str, Any], Awaitable[None]]:
        before_send = self.before_send
        earlier = request.extensions.get("trace")

        async def on_event(name: str, info: Any) -> None:
            if earlier is not None:
                await earlier(name, info)
            # Last, with no other await before the write.
            if name == BEFORE_FIRST_BYTE and before_send is not None:
                before_send(request)

        return on_event


class GuardedTransport(httpx2.HTTPTransport):
    """httpx's own transport over a pool whose connections go to checked addresses only."""

    def __init__(self, guard: _Guard, *, verify: ssl.SSLContext | bool) -> None:
        """Replace the pool that httpx made by one of ours, with the same TLS context."""
        context = httpx2.create_ssl_context(verify=verify, trust_env=False)
        super().__init__(verify=context, trust_env=False)
        assert isinstance(self._pool, httpcore2.ConnectionPool)
        self._guard = guard
        self._pool = httpcore2.ConnectionPool(
            ssl_context=context,
            max_connections=LIMITS.max_connections,
            max_keepalive_connections=LIMITS.max_keepalive_connections,
            keepalive_expiry=LIMITS.keepalive_expiry,
            network_backend=_CheckedBackend(guard),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request. Raises `ForbiddenAddress`, what `before_send` raises, and httpx's own errors."""
        self._guard.check_url(request)
        request.extensions = {**request.extensions, "trace": self._guard.trace(request)}
        return super().handle_request(request)


class GuardedAsyncTransport(httpx2.AsyncHTTPTransport):
    """The asynchronous twin of `GuardedTransport`."""

    def __init__(self, guard: _Guard, *, verify: ssl.SSLContext | bool) -> None:
        """Replace the pool that httpx made by one of ours, with the same TLS context."""
        context = httpx2.create_ssl_context(verify=verify, trust_env=False)
        super().__init__(verify=context, trust_env=False)
        assert isinstance(self._pool, httpcore2.AsyncConnectionPool)
        self._guard = guard
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=LIMITS.max_connections,
            max_keepalive_connections=LIMITS.max_keepalive_connections,
            keepalive_expiry=TOOLS_IDLE_SECONDS,
            network_backend=_CheckedAsyncBackend(guard),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request. Raises `ForbiddenAddress`, what `before_send` raises, and httpx's own errors."""
        self._guard.check_url(request)
        request.extensions = {**request.extensions, "trace": self._guard.async_trace(request)}
        return await super().handle_async_request(request)


class _CheckedBackend(httpcore2.NetworkBackend):
    """Resolves a host once, checks every address, and connects to one of exactly these."""

    def __init__(self, guard: _Guard) -> None:
        self._guard = guard
        self._inner = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        left = _Left(timeout)
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise _unresolved(host, error) from None
        failure: Exception | None = None
        for address in self._guard.addresses(host, found):
            try:
                stream = self._inner.connect_tcp(
                    address, port, left.seconds(), local_address, socket_options
                )
                asked = self._guard.while_reading
                return stream if asked is None else _AskingStream(stream, asked)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure or _unresolved(host, None)


class _AskingStream(httpcore2.NetworkStream):
    """A connection that asks `while_reading` again and again while bytes are waited for."""

    def __init__(self, inner: httpcore2.NetworkStream, while_reading: WhileReading) -> None:
        self._inner = inner
        self._while_reading = while_reading

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            self._while_reading()
            try:
                return self._inner.read(max_bytes, READING_SLICE_SECONDS)
            except httpcore2.ReadTimeout:
                if until is not None and time.monotonic() >= until:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        secured = self._inner.start_tls(ssl_context, server_hostname, timeout)
        return _AskingStream(secured, self._while_reading)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _CheckedAsyncBackend(httpcore2.AsyncNetworkBackend):
    """The asynchronous twin of `_CheckedBackend`."""

    def __init__(self, guard: _Guard) -> None:
        self._guard = guard
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        left = _Left(timeout)
        try:
            with anyio.fail_after(timeout):
                found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except TimeoutError:
            raise httpcore2.ConnectTimeout(f"the name server did not answer for {host}") from None
        except (OSError, UnicodeError) as error:
            raise _unresolved(host, error) from None
        failure: Exception | None = None
        for address in self._guard.addresses(host, found):
            try:
                return await self._inner.connect_tcp(
                    address, port, left.seconds(), local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure or _unresolved(host, None)


class _Left:
    """What is left of a timeout that several addresses share."""

    def __init__(self, timeout: float | None) -> None:
        self._until = None if timeout is None else time.monotonic() + timeout

    def seconds(self) -> float | None:
        if self._until is None:
            return None
        left = self._until - time.monotonic()
        if left <= 0:
            raise httpcore2.ConnectTimeout("no address could be reached in time")
        return left


def _unresolved(host: str, error: Exception | None) -> httpcore2.ConnectError:
    return httpcore2.ConnectError(f"{host} cannot be resolved{f': {error}' if error else ''}")
