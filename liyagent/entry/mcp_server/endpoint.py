"""The protocol itself, by the SDK: no sessions, so that any process answers any request. Imported with the first one."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from uuid import UUID

from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)

from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.limits import Scope
from liyagent.entry.mcp_server.answer import RESULT_TOOL, Told, told_of
from liyagent.entry.mcp_server.asked import Asked, Caller
from liyagent.entry.mcp_server.errors import NoSuchTool, NotLetIn
from liyagent.entry.mcp_server.mount import ASKED
from liyagent.entry.mcp_server.receive import Taking, check_tool, take_call
from liyagent.entry.mcp_server.tools import ask_of, fetch_of, list_tools, schema_of
from liyagent.entry.mcp_server.wait import AWAY, in_thread, told_when_settled
from missions.carry import META_KEY

VERSION = "1"
RUN_KEY = "io.liyagent/run"
INSTRUCTIONS = (
    "Each tool is an agent: it is asked a task, and works on it to its end, whoever hangs up. Name a call in "
    f"_meta as io.liyagent/key, and sent again it is the same. {RESULT_TOOL} tells what became of a run."
)
AGAIN = "something inside is away; send the same again"


async def answer(scope: Scope, receive: Any, send: Any) -> None:
    """Answer one request that was let in."""
    loop = asyncio.get_running_loop()
    if loop not in _managers:
        _managers[loop] = loop.create_task(_started())
    manager, _ = await asyncio.shield(_managers[loop])
    await manager.handle_request(scope, receive, send)


async def _tools(ctx: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
    cursor = params.cursor if params else None
    try:
        page = await in_thread(lambda: list_tools(cursor))
    except BadInput as error:
        raise MCPError(INVALID_PARAMS, str(error)) from None
    except AWAY:
        raise MCPError(INTERNAL_ERROR, AGAIN) from None
    told = {"tools": page.tools, "nextCursor": page.next_cursor or None}
    return ListToolsResult.model_validate(told)


async def _call(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
    asked: Asked = ctx.request.scope[ASKED]
    try:
        run_id, seconds, is_fetching = await _begun(ctx, asked, params)
        asked.begun.set()
        told = await told_when_settled(
            run_id,
            lambda: told_of(run_id, _caller_now(asked)),
            seconds=seconds,
            past_people=is_fetching,
            tell=lambda count, status: _tell(ctx, count, status),
        )
    except NoSuchTool as error:
        raise MCPError(INVALID_PARAMS, str(error)) from None
    except LiyagentError as error:
        if error.http_status == HTTPStatus.SERVICE_UNAVAILABLE or isinstance(error, NotLetIn):
            # Its run may have been started: none of the codes that say that nothing was done.
            raise MCPError(INTERNAL_ERROR, str(error)) from None
        return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
    except AWAY:
        raise MCPError(INTERNAL_ERROR, AGAIN) from None
    finally:
        asked.begun.set()
    return _result(told)


async def _begun(ctx: Any, asked: Asked, params: CallToolRequestParams) -> tuple[UUID, float, bool]:
    """The run that a call is about, how long its answer is waited for, and whether it is only asked after."""
    arguments = params.arguments or {}
    if params.name == RESULT_TOOL:
        run_id, seconds = fetch_of(arguments)
        return run_id, seconds, True
    # As it came, not as the SDK's own model has it.
    meta = (ctx.params or {}).get("_meta")
    return await in_thread(lambda: _taken(asked, params.name, arguments, meta))


def _taken(
    asked: Asked, tool: str, arguments: Mapping[str, Any], meta: Any
) -> tuple[UUID, float, bool]:
    try:
        given = ask_of(arguments)
    except BadInput:
        check_tool(tool)
        raise
    taking = Taking(
        agent_key=tool,
        task=given["task"],
        history=given.get("history", []),
        meta=meta if isinstance(meta, dict) else {},
    )
    return take_call(asked, taking), given["wait_seconds"], False


def _caller_now(asked: Asked) -> Caller:
    caller = asked.caller_now()
    if caller is None:
        raise NotLetIn
    return caller


async def _tell(ctx: Any, count: int, status: str) -> None:
    await ctx.session.report_progress(float(count), message=f"{status}, {count} events")


def _result(told: Told) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(text=told.text)],
        structured_content=told.facts(),
        is_error=told.is_error,
        _meta={RUN_KEY: str(told.run_id), META_KEY: told.mission},
    )


async def _started() -> tuple[StreamableHTTPSessionManager, asyncio.Task[None]]:
    """The SDK's manager at work, and the task that keeps it so until this loop ends."""
    server: Server[Any] = Server(
        "liyagent",
        version=VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=_tools,
        on_call_tool=_call,
        get_tool_input_schema=schema_of,
    )
    # Spans of ours tell of the run; the SDK's would tell of it twice, and without its mission.
    server.middleware.clear()
    manager = StreamableHTTPSessionManager(server, stateless=True)
    is_ready = asyncio.Event()
    task = asyncio.get_running_loop().create_task(_keep(manager, is_ready))
    await is_ready.wait()
    return manager, task


async def _keep(manager: StreamableHTTPSessionManager, is_ready: asyncio.Event) -> None:
    async with manager.run():
        is_ready.set()
        await asyncio.get_running_loop().create_future()


# One for each event loop, which is one for each process that serves.
_managers: weakref.WeakKeyDictionary[
    asyncio.AbstractEventLoop, asyncio.Task[tuple[StreamableHTTPSessionManager, asyncio.Task[None]]]
] = weakref.WeakKeyDictionary()
