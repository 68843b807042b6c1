"""The guarded client against real sockets that record every byte they are given."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from liyagent.core import outbound
from liyagent.core.addresses import ForbiddenAddress
from liyagent.core.outbound import (
    TOOLS_IDLE_SECONDS,
    BeforeSend,
    guarded_async_client,
    guarded_client,
)

LOCAL = ("127.0.0.1",)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class RecordingServer:
    """Answers each request on each connection, and keeps what every connection was given."""

    def __init__(
        self,
        *,
        answer: bytes = ANSWER,
        accept_delay: float = 0.0,
        tls: ssl.SSLContext | None = None,
        tls_delay: float = 0.0,
    ) -> None:
        self.received: list[bytearray] = []
        self.log: list[str] = []
        self.ended = threading.Event()
        self._answer = answer
        self._accept_delay = accept_delay
        self._tls = tls
        self._tls_delay = tls_delay
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> RecordingServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                time.sleep(self._accept_delay)
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        got = bytearray()
        self.received.append(got)
        with contextlib.suppress(OSError), connection:
            if self._tls is not None:
                time.sleep(self._tls_delay)
                self.log.append("handshake")
                connection = self._tls.wrap_socket(connection, server_side=True)
            while data := connection.recv(65536):
                got += data
                if got.endswith(b"\r\n\r\n") or b"\r\n\r\n{" in got:
                    connection.sendall(self._answer)
        self.ended.set()


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as running:
        yield running


class Late(Exception):
    """The deadline has passed."""


def refuse(_request: httpx2.Request) -> None:
    raise Late


Get = Callable[..., httpx2.Response]


def get_sync(url: str, **options: Any) -> httpx2.Response:
    with guarded_client(**options) as client:
        return client.get(url)


def get_async(url: str, **options: Any) -> httpx2.Response:
    async def ask() -> httpx2.Response:
        async with guarded_async_client(**options) as client:
            return await client.get(url)

    return asyncio.run(ask())


@pytest.fixture(params=[get_sync, get_async], ids=["sync", "async"])
def get(request: pytest.FixtureRequest) -> Get:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.promise("ruling 35")
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.0.0.1", "0", "[::1]", "[::ffff:127.0.0.1]"]
)  # fmt: skip
def test_a_host_of_our_own_network_is_refused_before_any_connection(
    get: Get, server: RecordingServer, host: str
) -> None:
    with pytest.raises(ForbiddenAddress, match="LIYAGENT_ALLOWED_PRIVATE_HOSTS"):
        get(f"http://{host}:{server.port}/", allowed_private_hosts=())
    assert server.received == []


def test_a_listed_host_is_reached(get: Get, server: RecordingServer) -> None:
    assert get(f"http://127.0.0.1:{server.port}/x", allowed_private_hosts=LOCAL).text == "ok"
    assert (
        get(f"http://localhost:{server.port}/x", allowed_private_hosts=["LOCALHOST"]).text == "ok"
    )


def test_without_a_list_the_setting_counts(
    get: Get, server: RecordingServer, settings: Any
) -> None:
    assert settings.LIYAGENT.allowed_private_hosts == ("127.0.0.1", "localhost")
    assert get(f"http://127.0.0.1:{server.port}/").text == "ok"


@pytest.mark.parametrize("scheme", ["ftp", "ws", "wss", "file"])
def test_only_http_and_https_are_called(get: Get, server: RecordingServer, scheme: str) -> None:
    with pytest.raises(ForbiddenAddress, match="http or https"):
        get(f"{scheme}://127.0.0.1:{server.port}/", allowed_private_hosts=LOCAL)
    assert server.received == []


@pytest.mark.parametrize("port", [0, 65536, 99999])
def test_a_port_that_is_none_is_refused(get: Get, port: int) -> None:
    with pytest.raises(ForbiddenAddress, match="no port"):
        get(f"http://127.0.0.1:{port}/", allowed_private_hosts=LOCAL)


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A name server whose first answer for `rebound.test` is listed and whose later ones are not."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name != "rebound.test":
            return real(host, port, *args, **kwargs)
        asked.append(name)
        return real("127.0.0.1" if len(asked) == 1 else "127.0.0.2", port, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.promise("ruling 35")
def test_the_connection_goes_to_the_address_that_was_checked(
    get: Get, server: RecordingServer, resolver: list[str]
) -> None:
    answer = get(f"http://rebound.test:{server.port}/", allowed_private_hosts=LOCAL)
    assert answer.text == "ok"
    assert resolver == ["rebound.test"]
    assert b"Host: rebound.test:" in server.received[0]


def test_a_name_that_does_not_exist_is_a_connect_error(get: Get) -> None:
    with pytest.raises(httpx2.ConnectError, match="cannot be resolved"):
        get("http://nowhere.invalid/", allowed_private_hosts=())


def test_no_proxy_of_the_environment_is_used(
    get: Get, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    assert get(f"http://127.0.0.1:{server.port}/", allowed_private_hosts=LOCAL).text == "ok"


def test_a_redirect_is_an_answer_and_is_not_followed(get: Get) -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
    with RecordingServer(answer=moved) as server:
        answer = get(f"http://127.0.0.1:{server.port}/", allowed_private_hosts=LOCAL)
    assert answer.status_code == 302
    assert bytes(server.received[0]).count(b"GET ") == 1


@pytest.mark.promise("ruling 6")
def test_a_request_refused_before_sending_leaves_not_one_byte(get: Get) -> None:
    with RecordingServer(accept_delay=0.05) as server:
        with pytest.raises(Late):
            get(f"http://127.0.0.1:{server.port}/", allowed_private_hosts=LOCAL, before_send=refuse)
        assert server.ended.wait(5)
    assert server.received == [b""]


@pytest.mark.promise("ruling 6")
def test_the_question_is_asked_after_a_slow_connection_stands(get: Get, tmp_path: Path) -> None:
    server_side, client_side = tls_contexts("127.0.0.1", tmp_path)
    with RecordingServer(tls=server_side, tls_delay=0.08) as server:
        answer = get(
            f"https://127.0.0.1:{server.port}/",
            allowed_private_hosts=LOCAL,
            ssl_context=client_side,
            before_send=lambda _: server.log.append("asked"),
        )
    assert answer.text == "ok"
    assert server.log == ["handshake", "asked"]


@pytest.mark.promise("ruling 6")
def test_one_refused_request_disturbs_no_other(server: RecordingServer) -> None:
    url = f"http://127.0.0.1:{server.port}"
    with guarded_client(allowed_private_hosts=LOCAL, before_send=late_if_asked) as client:
        assert client.get(f"{url}/1").text == "ok"
        with pytest.raises(Late):
            client.get(f"{url}/late")
        assert client.get(f"{url}/2").text == "ok"
    assert_only(server, b"GET /1 ", b"GET /2 ")


@pytest.mark.promise("ruling 6")
def test_one_refused_request_disturbs_no_other_beside_it(server: RecordingServer) -> None:
    url = f"http://127.0.0.1:{server.port}"

    async def ask() -> list[Any]:
        async with guarded_async_client(
            allowed_private_hosts=LOCAL, before_send=late_if_asked
        ) as client:
            assert (await client.get(f"{url}/1")).text == "ok"
            paths = ["late", "2", "late", "3"]
            asked = [client.get(f"{url}/{path}") for path in paths]
            return await asyncio.gather(*asked, return_exceptions=True)

    answers = asyncio.run(ask())
    assert [isinstance(answer, Late) for answer in answers] == [True, False, True, False]
    assert_only(server, b"GET /1 ", b"GET /2 ", b"GET /3 ")


def test_the_hook_sees_each_request_of_a_kept_connection(server: RecordingServer) -> None:
    seen: list[str] = []
    hook: BeforeSend = lambda request: seen.append(request.url.path)  # noqa: E731 - one expression
    with guarded_client(allowed_private_hosts=LOCAL, before_send=hook) as client:
        for path in ("/a", "/b"):
            client.get(f"http://127.0.0.1:{server.port}{path}")
    assert seen == ["/a", "/b"]
    assert len(server.received) == 1


def test_a_tool_server_is_asked_over_no_connection_that_it_may_just_be_closing(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write on one that a server closes for being idle is in doubt for nothing."""
    assert TOOLS_IDLE_SECONDS <= 1.0
    monkeypatch.setattr(outbound, "TOOLS_IDLE_SECONDS", 0.05)
    url = f"http://127.0.0.1:{server.port}"

    async def ask() -> None:
        async with guarded_async_client(allowed_private_hosts=LOCAL) as client:
            await client.get(f"{url}/1")
            await client.get(f"{url}/2")
            await asyncio.sleep(0.1)
            await client.get(f"{url}/3")

    asyncio.run(ask())
    assert [it.count(b"GET /") for it in server.received] == [2, 1]


@pytest.mark.promise("ruling 35")
def test_tls_speaks_for_the_name_and_not_for_the_address(
    get: Get, tmp_path: Path, resolver: list[str]
) -> None:
    server_side, client_side = tls_contexts("rebound.test", tmp_path)
    names: list[str | None] = []
    server_side.sni_callback = lambda _socket, name, _context: names.append(name)
    with RecordingServer(tls=server_side) as server:
        url = f"https://rebound.test:{server.port}/"
        answer = get(url, allowed_private_hosts=LOCAL, ssl_context=client_side)
    assert answer.text == "ok"
    assert names == ["rebound.test"]
    assert resolver == ["rebound.test"]


def late_if_asked(request: httpx2.Request) -> None:
    if request.url.path == "/late":
        raise Late


def assert_only(server: RecordingServer, *wanted: bytes) -> None:
    everything = b"".join(bytes(got) for got in server.received)
    assert everything.count(b"GET ") == len(wanted)
    for start in wanted:
        assert start in everything


def tls_contexts(name: str, directory: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context for `name`, and a client's that trusts it alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    alternative = x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    both = directory / "server.pem"
    both.write_bytes(pem + secret)
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(both)
    return server_side, ssl.create_default_context(cadata=pem.decode())
