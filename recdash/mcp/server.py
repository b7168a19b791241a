"""The MCP server on standard input and output: lists the tools, and answers their calls as a viewer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from mcp import types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server

from recdash.errors import NotFound, Problem, RecdashError
from recdash.formatting.sanitize import visible
from recdash.mcp.tools import DATA_ONLY, TOOLS, called
from recdash.service import Workspace
from recdash.version import __version__
from recdash.web.api.answers import json_bytes
from recdash.web.api.problems import problem_facts, problems_of

INSTRUCTIONS = (
    "recdash compares recommender systems by offline metrics and A/B tests. Start with list_experiments. "
    f"No tool changes anything. {DATA_ONLY}"
)
Context = ServerRequestContext[Any]


def serve(workspace: Workspace) -> None:
    """Answers calls of tools on standard input and output until the input ends."""
    asyncio.run(_serve(workspace))


async def _serve(workspace: Workspace) -> None:
    server = made(workspace)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def made(workspace: Workspace) -> Server[Any]:
    """Returns the server, which reads as a viewer whatever the role of the person is."""
    viewer = replace(workspace.person, role="viewer")
    turn = asyncio.Lock()

    async def tools(_context: Context, _asked: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_listed())

    async def call(_context: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        def answer() -> types.CallToolResult:
            return _answer(workspace.seen_by(viewer), asked.name, asked.arguments or {})

        async with turn:
            return await asyncio.to_thread(answer)

    return Server(
        "recdash",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=tools,
        on_call_tool=call,
    )


def _listed() -> list[types.Tool]:
    reads = types.ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    return [
        types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema, annotations=reads)
        for tool in TOOLS
    ]


def _answer(workspace: Workspace, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """Returns the answer as JSON with invisible characters escaped, or the problems of a call that failed."""
    try:
        answer, is_error = called(workspace, name, arguments), False
    except RecdashError as error:
        answer, is_error = {"problems": list(map(problem_facts, _problems(error, name)))}, True
    text = visible(json_bytes(answer).decode())
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)


def _problems(error: RecdashError, tool: str) -> list[Problem]:
    if isinstance(error, NotFound):
        fix = "list_experiments lists the experiments with their runs and tests."
        return [Problem("not-found", tool, str(error).rstrip("."), fix)]
    return problems_of(error, tool)
