"""The vendors as one ASGI application: `/<vendor>/mcp`, `/ledger/<vendor>` and `/control`, on loopback only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from liyagent.demo.vendors import incident, jira, servicenow
from liyagent.demo.vendors.ledger import Ledger
from liyagent.demo.vendors.vendor import Pace, Vendor

BUILDERS: dict[str, Callable[[Vendor], MCPServer[Any]]] = {
    "incident": incident.build,
    "jira": jira.build,
    "servicenow": servicenow.build,
}
LOOPBACK = ("127.0.0.1", "localhost")
LONGEST_MS = 60_000


def build_app(directory: Path, *, before_ms: float, after_ms: float) -> Starlette:
    """Return all vendors with their ledgers in `directory`, every write at this pace to begin with."""
    directory.mkdir(parents=True, exist_ok=True)
    vendors = {
        name: Vendor(
            name,
            Ledger(directory / f"{name}.sqlite3"),
            Pace(before_ms=before_ms, after_ms=after_ms),
        )
        for name in BUILDERS
    }
    servers = {name: build(vendors[name]) for name, build in BUILDERS.items()}
    security = TransportSecuritySettings(allowed_hosts=[f"{host}:*" for host in LOOPBACK])
    doors = [
        Mount(
            f"/{name}",
            app=server.streamable_http_app(
                stateless_http=True, json_response=True, transport_security=security
            ),
        )
        for name, server in servers.items()
    ]
    return Starlette(
        routes=[
            Route("/control", _control(vendors), methods=["POST"]),
            Route("/ledger/{vendor}", _ledger(vendors), methods=["GET"]),
            *doors,
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(LOOPBACK))],
        lifespan=_lifespan(vendors, servers),
    )


def _lifespan(
    vendors: Mapping[str, Vendor], servers: Mapping[str, MCPServer[Any]]
) -> Callable[[Starlette], Any]:
    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for vendor in vendors.values():
                stack.callback(vendor.ledger.close)
            for server in servers.values():
                await stack.enter_async_context(server.session_manager.run())
            yield

    return life


def _control(vendors: Mapping[str, Vendor]) -> Callable[[Request], Any]:
    async def control(request: Request) -> Response:
        """`{"vendor", "before_ms", "after_ms"}`: change a vendor's pace; what is left out stays."""
        wish = await _json_object(request)
        vendor = vendors.get(str(wish.get("vendor")))
        paces = {name: wish[name] for name in ("before_ms", "after_ms") if name in wish}
        if vendor is None or not all(_is_pace(value) for value in paces.values()):
            wants = f'{{"vendor": one of {", ".join(vendors)}, "before_ms", "after_ms": 0 to {LONGEST_MS}}}'
            return JSONResponse({"error": f"wants {wants}"}, status_code=400)
        for name, value in paces.items():
            setattr(vendor.pace, name, float(value))
        return JSONResponse(
            {
                "vendor": vendor.name,
                "before_ms": vendor.pace.before_ms,
                "after_ms": vendor.pace.after_ms,
            }
        )

    return control


def _ledger(vendors: Mapping[str, Vendor]) -> Callable[[Request], Any]:
    async def ledger(request: Request) -> Response:
        """Everything a vendor remembers: its requests and its effects."""
        vendor = vendors.get(request.path_params["vendor"])
        if vendor is None:
            return JSONResponse({"error": f"vendors: {', '.join(vendors)}"}, status_code=404)
        return JSONResponse(await anyio.to_thread.run_sync(vendor.ledger.as_json))

    return ledger


async def _json_object(request: Request) -> dict[str, Any]:
    try:
        wish = await request.json()
    except ValueError:
        return {}
    return wish if isinstance(wish, dict) else {}


def _is_pace(value: object) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LONGEST_MS
    )
