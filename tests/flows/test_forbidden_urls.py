"""No URL that a row can hold leads inside our own network: not when it is saved, not when it is used (ruling 35)."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import models

from liyagent.agents.definitions import save_agent
from liyagent.agents.errors import AgentInvalid
from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.outbound import guarded_client
from liyagent.entry.a2a.errors import BadParams
from liyagent.entry.a2a.push import wanted_of
from liyagent.entry.a2a.wire import Version
from liyagent.entry.teams.addresses import is_safe_address
from liyagent.entry.teams.bots import BotInvalid, save_bot
from liyagent.entry.teams.connector import Tokens
from liyagent.entry.teams.errors import ServiceForbidden
from liyagent.entry.teams.fetch import fetch
from liyagent.entry.teams.keys import read_keys
from liyagent.entry.teams.models import TeamsBot
from liyagent.entry.whom import Saver
from liyagent.gateway import mcp
from liyagent.gateway.contracts import address_from
from liyagent.gateway.mcp_session import CatalogueUnreadable
from liyagent.gateway.models import ToolServer
from liyagent.gateway.servers import load_servers
from liyagent.jobs.sources.save import save_source
from liyagent.jobs.sources.urls_origin import Addresses
from liyagent.providers.client import client_for
from liyagent.providers.types import Message, ModelRejected, ModelRequest, ModelUnavailable, Role
from tests.databases import FreshDatabase
from tests.flows.forbidden_urls import ANSWERED, NAMES, PUBLIC, SHOWN

pytestmark = pytest.mark.promise("ruling 35")
MOVED = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n"
ASKED: list[Any] = []
sys.addaudithook(lambda event, args: ASKED.append(args[1]) if event == "socket.connect" else None)


class Listener:
    """Accepts on 127.0.0.1 and ::1, counts, and answers with a redirect to `to`, or not at all."""

    def __init__(self, to: int | None = None) -> None:
        self.connections = 0
        self._to = to
        first = socket.create_server(("127.0.0.1", 0))
        self.port: int = first.getsockname()[1]
        second = socket.create_server(("::1", self.port), family=socket.AF_INET6)
        self._sockets = first, second
        for each in self._sockets:
            threading.Thread(target=self._accept, args=(each,), daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                self.connections += 1
                with connection:
                    if self._to is not None:
                        connection.recv(65536)
                        connection.sendall(MOVED % self._to)

    def close(self) -> None:
        """Stop."""
        for each in self._sockets:
            each.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    """What must not be reached."""
    running = Listener()
    yield running
    running.close()


@pytest.fixture
def _nothing_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch)


def allow(monkeypatch: pytest.MonkeyPatch, *hosts: str) -> None:
    """Let these private hosts be used, and no other."""
    conf = dataclasses.replace(django_settings.LIYAGENT, allowed_private_hosts=hosts)
    monkeypatch.setattr(django_settings, "LIYAGENT", conf)


@pytest.fixture
def name_server(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Answer `NAMES`; for `rebound.test` a public address first and this machine's later. Returns what was asked."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        asked.append(name)
        if name == "rebound.test":
            answers: tuple[str, ...] = ("127.0.0.1" if asked.count(name) == 1 else "127.0.0.2",)
        elif name in NAMES:
            answers = NAMES[name]
        elif re.fullmatch(r"[0-9a-fA-Fx.:]+", name):
            return real(host, port, *args, **kwargs)
        else:
            raise socket.gaierror(socket.EAI_NONAME, "there is no such name")
        return [entry for answer in answers for entry in real(answer, port, *args, **kwargs)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def save_base_url(url: str) -> None:
    """An agent, as every way in saves it."""
    save_agent(
        {"key": "a", "name": "A", "provider": "openai", "model": "m", "base_url": url}, actor="test"
    )


def save_server_url(url: str) -> None:
    """A server, as a file declares it."""
    load_servers({"servers": [{"key": "s", "transport": "http", "url": url}]}, actor="test")


def save_token_url(url: str) -> None:
    """A server with OAuth, as the console and the file save it: by the row's own rules."""
    ToolServer(
        key="t", url="https://example.com/", oauth_token_url=url, oauth_client_id="c", oauth_secret_env="TOKEN"
    ).full_clean()  # fmt: skip


def ask_model(provider: str) -> Callable[[str], None]:
    """One model step."""

    def ask(url: str) -> None:
        request = ModelRequest(
            model="m", messages=(Message(role=Role.USER, text="x"),), timeout_seconds=2
        )
        client_for(provider=provider, base_url=url).ask(request)

    return ask


def read_catalogue(url: str) -> None:
    """What a server's sync does first."""
    mcp.list_tools(address_from(ToolServer(key="s", url=url)))


def fetch_token(url: str) -> None:
    """A server whose token is fetched at `url`; the server itself is one that may be called."""
    server = ToolServer(
        key="s", url="http://93.184.215.14/", oauth_token_url=url, oauth_client_id="c", oauth_secret_env="SSRF_TEST_SECRET"
    )  # fmt: skip
    mcp.list_tools(address_from(server))


def save_bot_with(name: str) -> Callable[[str], None]:
    """A bot of Teams, as every way in saves it."""

    def save(url: str) -> None:
        User.objects.get_or_create(username="ann")
        save_agent({"key": "a", "name": "A", "provider": "openai", "model": "m"}, actor="test")
        told = {"agent": "a", "app_id": str(uuid4()), "tenant": str(uuid4()), "secret_env": "TOKEN"}
        save_bot(uuid4().hex, {**told, name: url}, saver=Saver(actor="ann", username="ann"))

    return save


def receive_from(url: str) -> None:
    """A message in Teams names the service that it is answered at."""
    if not is_safe_address(url):
        raise ServiceForbidden


def read_signing_keys(url: str) -> None:
    """What vouches for who calls a bot."""
    read_keys(url)


def fetch_bots_token(url: str) -> None:
    """What a bot does before it speaks."""
    bot = TeamsBot(app_id=str(uuid4()), token_url=url, secret_env="SSRF_TEST_SECRET", scope="s")
    Tokens().token(bot)


def answer_in_teams(url: str) -> None:
    """How anything is put to Teams."""
    answer = fetch("POST", f"{url}v3/conversations/c/activities", seconds=2, json={})
    if answer.status != HTTPStatus.OK:
        raise LiyagentError(f"HTTP {answer.status}")


def want_pushes(url: str) -> None:
    """A caller of A2A asks to be told there."""
    wanted_of({"url": url}, Version.V10)


def ask_for_page(url: str) -> None:
    """A source names a page."""
    told = {"kind": "urls", "agents": ["*"], "settings": {"urls": [url]}}
    save_source(uuid4().hex, told, actor="test")


def read_page(url: str) -> None:
    """What a sync does with it."""
    Addresses([url]).read(url)


# Every column that holds a URL: how it is saved, and how it is used.
PLACES: dict[str, tuple[Callable[[str], None], tuple[Callable[[str], None], ...]]] = {
    "agents.Agent.base_url": (save_base_url, (ask_model("openai"), ask_model("anthropic"))),
    "gateway.ToolServer.url": (save_server_url, (read_catalogue,)),
    "gateway.ToolServer.oauth_token_url": (save_token_url, (fetch_token,)),
    "teams.TeamsBot.metadata_url": (save_bot_with("metadata_url"), (read_signing_keys,)),
    "teams.TeamsBot.token_url": (save_bot_with("token_url"), (fetch_bots_token,)),
    "teams.TeamsTurn.service_url": (receive_from, (answer_in_teams,)),
    "a2a.PushConfig.url": (want_pushes, ()),
    "sources.Source.settings": (ask_for_page, (read_page,)),
}
USES = [(place, use) for place, (_, uses) in PLACES.items() for use in uses]
# A secret goes nowhere without https, whatever a name stands for: these do not even ask for the name.
CALLED = [pair for pair in USES if pair[0] != "teams.TeamsBot.token_url"]
REFUSALS = (BadInput, AgentInvalid, ValidationError, BotInvalid, ServiceForbidden, BadParams)
# Those that hold addresses under another name, or carry tokens and so want https.
NAMED_OTHERWISE = {"sources.Source.settings"}
WANT_HTTPS = {place for place in PLACES if place.startswith("teams.")}
FAILURES = (ModelRejected, ModelUnavailable, CatalogueUnreadable, LiyagentError)


def refuses(act: Callable[[str], None], url: str, errors: tuple[type[Exception], ...]) -> bool:
    """Whether `url` is refused with an error that says so."""
    try:
        act(url)
    except errors:
        return True
    return False


def test_every_column_that_holds_a_url_stands_in_the_table() -> None:
    columns = {
        f"{model._meta.app_label}.{model.__name__}.{field.name}"
        for model in apps.get_models()
        if model.__module__.split(".")[0] in {"liyagent", "runs", "events", "missions"}
        for field in model._meta.get_fields()
        if isinstance(field, models.Field)
        and ("url" in field.name or isinstance(field, models.URLField))
    }
    assert columns == set(PLACES) - NAMED_OTHERWISE


def test_the_table_is_long_enough_to_mean_something() -> None:
    assert len(set(SHOWN)) == len(SHOWN)
    assert len(SHOWN) >= 60
    assert len(SHOWN) + len(ANSWERED) >= 150


@pytest.mark.usefixtures("fresh_db", "_nothing_allowed")
@pytest.mark.parametrize("place", PLACES)
def test_what_shows_itself_is_refused_when_it_is_saved(place: str) -> None:
    save, _ = PLACES[place]
    saved = [url for url in SHOWN if not refuses(save, url.replace("{p}", "8080"), REFUSALS)]
    assert saved == []


@pytest.mark.usefixtures("_nothing_allowed")
@pytest.mark.parametrize("place", PLACES)
def test_what_leads_to_the_internet_is_saved(place: str, fresh_db: FreshDatabase) -> None:
    save, _ = PLACES[place]
    public = [url for url in PUBLIC if place not in WANT_HTTPS or url.startswith("https:")]
    assert [url for url in public if refuses(save, url, REFUSALS)] == []


@pytest.mark.usefixtures("_nothing_allowed", "name_server")
@pytest.mark.parametrize(("place", "use"), USES)
def test_nothing_is_reached_when_it_is_used(
    place: str, use: Callable[[str], None], listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the row got past every check: not a single connection is begun, to anywhere."""
    monkeypatch.setenv("SSRF_TEST_SECRET", "x")
    ASKED.clear()
    urls = [url.replace("{p}", str(listener.port)) for url in (*SHOWN, *ANSWERED)]
    answered = [url for url in urls if not refuses(use, url, FAILURES)]
    mcp.close_all()
    assert answered == []
    assert ASKED == []
    assert listener.connections == 0


@pytest.mark.usefixtures("name_server")
@pytest.mark.parametrize(("place", "use"), CALLED)
def test_a_redirect_inside_is_not_followed(
    place: str, use: Callable[[str], None], listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSRF_TEST_SECRET", "x")
    allow(monkeypatch, "loopback.test")
    redirecting = Listener(to=listener.port)
    assert refuses(use, f"http://loopback.test:{redirecting.port}/", FAILURES)
    mcp.close_all()
    redirecting.close()
    assert redirecting.connections > 0
    assert listener.connections == 0


@pytest.mark.parametrize(("place", "use"), CALLED)
def test_a_connection_goes_to_the_address_that_was_checked(
    place: str,
    use: Callable[[str], None],
    name_server: list[str],
    listener: Listener,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A later answer, of an address that is not allowed, is never connected to."""
    monkeypatch.setenv("SSRF_TEST_SECRET", "x")
    allow(monkeypatch, "127.0.0.1")
    ASKED.clear()
    assert refuses(use, f"http://rebound.test:{listener.port}/", FAILURES)
    mcp.close_all()
    assert "rebound.test" in name_server
    assert {address[0] for address in ASKED} == {"127.0.0.1"}


@pytest.mark.usefixtures("_nothing_allowed")
def test_an_address_with_a_user_in_it_is_not_called() -> None:
    with guarded_client() as client, pytest.raises(LiyagentError, match="user in it"):
        client.get("http://me:word@example.com/")


@pytest.mark.usefixtures("fresh_db")
def test_a_private_host_that_is_allowed_is_saved_and_reached(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch, "127.0.0.0/8", "localhost")
    for url in (f"http://127.0.0.1:{listener.port}/", f"http://localhost:{listener.port}/"):
        for save, _ in PLACES.values():
            save(url)
    assert refuses(read_catalogue, f"http://127.0.0.1:{listener.port}/", FAILURES)
    mcp.close_all()
    assert listener.connections > 0
