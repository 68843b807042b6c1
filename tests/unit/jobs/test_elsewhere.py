"""Documents at web addresses and of tool servers: read by the guarded client and through the gateway."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from django.conf import settings
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resources import TextResource
from starlette.types import ASGIApp

from liyagent.gateway import mcp
from liyagent.gateway.contracts import forget_contracts
from liyagent.gateway.models import ToolServer as Row
from liyagent.jobs.sources import urls_origin
from liyagent.jobs.sources.models import Source
from liyagent.jobs.sources.origin import Content
from liyagent.jobs.sources.resources import Resources
from liyagent.jobs.sources.save import save_source
from tests.fakes.tool_server import ToolServer
from tests.unit.jobs.conftest import Shop

TEXT = "text/plain; charset=utf-8"
# Path to (status, headers, body).
Page = tuple[int, dict[str, str], bytes]


@dataclasses.dataclass(slots=True)
class Site:
    """A web server that answers what it is told to."""

    port: int = 0
    pages: dict[str, Page] = dataclasses.field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = dataclasses.field(default_factory=list)

    def put(self, path: str, body: str = "", *, status: int = 200, **headers: str) -> str:
        named = {name.replace("_", "-"): value for name, value in {"content_type": TEXT, **headers}.items()}  # fmt: skip
        self.pages[path] = (status, named, body.encode())
        return f"http://127.0.0.1:{self.port}{path}"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, shop: Shop) -> Iterator[Site]:
    """A site on this machine, which may be read."""
    it = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            it.asked.append((self.path, dict(self.headers)))
            status, headers, body = it.pages.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    it.port = server.server_port
    conf = dataclasses.replace(settings.LIYAGENT, allowed_private_hosts=("127.0.0.1",))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    Thread(target=server.serve_forever, daemon=True).start()
    yield it
    server.shutdown()
    server.server_close()


def of_urls(*urls: str) -> Source:
    told = {"kind": "urls", "agents": ["triage"], "settings": {"urls": list(urls)}}
    return save_source("web", told, actor="olga")


def test_addresses_are_read_kept_and_forgotten_where_they_are_gone(shop: Shop, site: Site) -> None:
    one = site.put("/one", "<title>One</title><p>first", content_type="text/html")
    two = site.put("/two", "second")
    of_urls(one, two)
    assert shop.sync("web").status == "done"
    assert shop.documents() == {one: "first", two: "second"}
    del site.pages["/two"]
    assert shop.sync("web").status == "done"
    assert shop.documents() == {one: "first"}
    site.put("/two", "second")
    shop.sync("web")
    assert len(shop.documents()) == 2
    of_urls(one)
    shop.sync("web")
    assert shop.documents() == {one: "first"}
    # All of them at once: the site is away rather than its pages.
    del site.pages["/one"]
    job = shop.sync("web")
    assert (job.status, "nothing is left" in job.reason) == ("failed", True)
    assert shop.documents() == {one: "first"}
    assert all("Authorization" not in headers for _, headers in site.asked)


def test_what_cannot_be_fetched_is_named_and_the_rest_is_done(shop: Shop, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(urls_origin, "MOST_BYTES", 100)
    fine = site.put("/fine", "fine")
    of_urls(
        fine, site.put("/broken", status=503), site.put("/long", "x" * 101),
        site.put("/moved", status=302, location="http://169.254.169.254/"), site.put("/picture", content_type="image/png"),
    )  # fmt: skip
    job = shop.sync("web")
    assert (job.status, job.done, shop.documents()) == ("failed", 5, {fine: "fine"})
    for said in ("4 of 5 could not be read", "HTTP status 503", "more than 100 bytes", "name that address instead", "image/png"):  # fmt: skip
        assert said in job.reason
    assert [path for path, _ in site.asked] == ["/broken", "/fine", "/long", "/moved", "/picture"]


def test_a_site_that_is_away_or_forbidden_meanwhile_leaves_what_was_there(shop: Shop, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    of_urls(one := site.put("/one", "first"))
    shop.sync("web")
    conf = dataclasses.replace(settings.LIYAGENT, allowed_private_hosts=())
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    job = shop.sync("web")
    assert (job.status, "may not be fetched" in job.reason) == ("failed", True)
    assert shop.documents() == {one: "first"}


class Wiki(ToolServer):
    """A tool server whose resources are these texts."""

    texts: dict[str, str] = {}

    def _app(self) -> ASGIApp:
        server = MCPServer("wiki", log_level="CRITICAL")
        for uri, text in self.texts.items():
            server.add_resource(
                TextResource(uri=uri, name=uri, text=text, mime_type="text/markdown")
            )
        return server.streamable_http_app(streamable_http_path="/mcp", json_response=True)


@pytest.fixture
def wiki(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wiki]:
    """A wiki that is set up as a tool server, and a source of it."""
    conf = dataclasses.replace(settings.LIYAGENT, allowed_private_hosts=("127.0.0.1",))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    monkeypatch.setattr(Wiki, "texts", {"wiki://mail": "# Mail\nAsk the desk.", "wiki://disk": "Disks."})  # fmt: skip
    forget_contracts()
    with Wiki() as server:
        Row.objects.create(key="wiki", transport="http", url=server.url)
        told = {"kind": "mcp_resources", "agents": ["triage"], "settings": {"server": "wiki"}}
        save_source("wiki", told, actor="olga")
        yield server
        mcp.close_all()
    forget_contracts()


def test_the_resources_of_a_tool_server_are_read_through_the_gateway(shop: Shop, wiki: Wiki) -> None:  # fmt: skip
    job = shop.sync("wiki")
    assert (job.status, job.reason) == ("done", "")
    assert shop.documents() == {"wiki://mail": "# Mail\nAsk the desk.", "wiki://disk": "Disks."}
    wiki.stop()
    mcp.close_all()
    job = shop.sync("wiki")
    assert (job.status, "cannot be listed" in job.reason) == ("failed", True)
    assert len(shop.documents()) == 2
    del Wiki.texts["wiki://disk"]
    wiki.start()
    assert shop.sync("wiki").status == "done"
    assert list(shop.documents()) == ["wiki://mail"]


def test_a_tool_server_that_dies_mid_sync_fails_the_job_and_leaves_what_was_there(shop: Shop, wiki: Wiki, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    shop.sync("wiki")
    as_it_is = Resources.read

    def reading(self: Resources, path: str) -> Content:
        if path == "wiki://mail":
            wiki.stop()
            mcp.close_all()
        return as_it_is(self, path)

    monkeypatch.setattr(Resources, "read", reading)
    job = shop.sync("wiki")
    wiki.start()
    assert (job.status, job.done, len(shop.documents())) == ("failed", 1, 2)
    assert "cannot be listed" in job.reason


def test_one_resource_that_fails_is_named_and_the_rest_is_done(shop: Shop, wiki: Wiki) -> None:
    wiki.next("resources/read", rpc_error=-32603)
    job = shop.sync("wiki")
    assert (job.status, job.done, list(shop.documents())) == ("failed", 2, ["wiki://mail"])
    assert "1 of 2 could not be read: wiki://disk" in job.reason
    wiki.next("resources/read", rpc_error=-32002)
    assert shop.sync("wiki").status == "done"


def test_a_tool_server_that_is_switched_off_leaves_what_was_read(shop: Shop, wiki: Wiki) -> None:
    shop.sync("wiki")
    Row.objects.filter(key="wiki").update(is_enabled=False)
    forget_contracts()
    job = shop.sync("wiki")
    assert (job.status, "not set up or not enabled" in job.reason) == ("failed", True)
    assert len(shop.documents()) == 2
