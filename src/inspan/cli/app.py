"""`inspan app`: the tools of apps inside a harness, and the tools themselves."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import cast

import msgspec

from inspan.apps.connecting import Connection, connect, disconnect, show_connection
from inspan.apps.tools.arguments import ArgumentsRefused
from inspan.apps.tools.engine import run_typed_line
from inspan.apps.tools.running import call_tool, is_error, text_for_model
from inspan.apps.tools.table import TOOLS, input_schema, tool_named
from inspan.host.registry import HarnessRegistry
from inspan.model.errors import HostError, UsageError
from inspan.model.manifest import Manifest

from .arguments import Namespace, Parser
from .context import Context
from .exits import Exit
from .output import Output, Piece, bad, bold, dim, good, warn

__all__ = ["build_app"]

_STATES = {
    "connected": "connected",
    "absent": "not connected",
    "unreadable": "cannot be read",
    "no_place": "no place for MCP servers",
}


def build_app(parser: Parser) -> None:
    """Adds the actions of `app`."""
    connecting = parser.action(
        "connect",
        "give a harness the tools of apps, in its own file of MCP servers",
        _connect,
        description="Your own entries in the file stay as they are, byte for byte. Without a harness: shows all.",
    )
    connecting.name("harness", "harness", "the harness's id; leave it out to see all", is_optional=True)
    connecting.example("inspan app connect", "shows which harnesses have the tools, and changes nothing")
    connecting.example("inspan app connect ID", "the harness has them from its next start on")
    leaving = parser.action("disconnect", "take the tools of apps from a harness again", _disconnect)
    leaving.name("harness", "harness", "the harness's id")
    leaving.example("inspan app disconnect ID", "the file is never deleted")
    demo = parser.action(
        "demo",
        "see an app give work to an agent, in a throwaway home",
        _demo,
        description="Makes the board app, serves it, starts a bridge to a scripted agent, puts work on the queue, and shows it "
        "picked up, reported and closed. Needs no key and no network; everything is removed at the end.",
    )
    demo.example("inspan app demo", "takes some seconds; prints the app's address")
    serving = parser.action("mcp", "serve the tools over MCP on standard input and output", _mcp)
    serving.example("inspan app mcp", "what `connect` has a harness start")
    profile = parser.action(
        "profile",
        "let bridges take work to a harness by its command line",
        _profile,
        description="Adds the harness's profile to harnesses.json of the apps' home, if no entry has its id. Never sets a "
        "default, changes no entry, and starts no bridge.",
    )
    profile.name("harness", "harness", "the harness's id")
    profile.example("inspan app profile ID", "says whether it was registered, kept or refused")
    calling = parser.action(
        "call",
        "run one tool with its arguments from standard input",
        _call,
        description="For bindings of harnesses in other languages. Reads a JSON object and prints one: what the model is "
        "to read (`text`), whether the call failed as a call (`isError`), and what the program did.",
    )
    calling.add_argument("tool", metavar="TOOL", help="the tool's name, as `inspan app tools` lists it")
    calling.example('echo \'{"dir": "."}\' | inspan app call agent_app_describe', "as a harness runs it")
    lining = parser.action(
        "line",
        "run one line that a person typed for agent-app or a2app",
        _line,
        description="For bindings: the verb in it says which of the two programs is meant. Its exit status is the program's.",
    )
    lining.add_argument("line", metavar="LINE", help="such as `. tasks next`, quoted as one word")
    lining.example("inspan app line '. data cards list'", "runs a2app")
    tools = parser.action("tools", "list the tools that an agent gets", _tools)
    tools.example("inspan app tools --json", "with the schemas of their arguments")


def _connect(context: Context, args: Namespace) -> int:
    registry = HarnessRegistry(context.home.path)
    if args.harness is None:
        return _tell_all(context.output, [show_connection(one, os.environ) for one in _manifests(registry)])
    return _tell(context.output, connect(registry.manifest(args.harness), os.environ))


def _disconnect(context: Context, args: Namespace) -> int:
    manifest = HarnessRegistry(context.home.path).manifest(args.harness)
    return _tell(context.output, disconnect(manifest, os.environ))


def _tools(context: Context, _: Namespace) -> int:
    output = context.output
    if output.is_json:
        output.value(
            [
                {
                    "name": tool.name,
                    "program": tool.program,
                    "description": tool.description,
                    "input_schema": input_schema(tool),
                    "is_read_only": tool.is_read_only,
                    "is_destructive": tool.is_destructive,
                }
                for tool in TOOLS
            ]
        )
        return 0
    output.table(
        ["TOOL", "PROGRAM", "WHAT"],
        [[bold(tool.name), dim(tool.program), tool.description.split(". ")[0].rstrip(".")] for tool in TOOLS],
    )
    return 0


def _call(context: Context, args: Namespace) -> int:
    tool = tool_named(args.tool)
    if tool is None:
        raise UsageError(f"There is no tool {args.tool!r}.", hint="`inspan app tools` lists them.")
    try:
        arguments: object = json.loads(sys.stdin.buffer.read() or b"{}")
    except (ValueError, RecursionError) as error:
        raise UsageError(
            "The arguments on standard input are no JSON.", hint="Give one JSON object."
        ) from error
    if not isinstance(arguments, dict):
        raise UsageError("The arguments on standard input are no JSON object.", hint="Give one JSON object.")
    try:
        result = asyncio.run(call_tool(tool, cast("dict[str, object]", arguments)))
    except ArgumentsRefused as refused:
        answer: dict[str, object] = {
            "text": str(refused),
            "isError": True,
            "code": refused.exit_status,
            "json": None,
        }
    else:
        answer = {
            "text": text_for_model(result),
            "isError": is_error(result),
            "code": result.code,
            "json": result.json,
        }
    context.output.value(answer)
    return 0


def _demo(context: Context, _: Namespace) -> int:
    from inspan.apps.demonstration import run
    from inspan.apps.faults import Fault

    output = context.output
    try:
        shown = run((lambda _: None) if output.is_json else lambda line: output.line(line))
    except Fault as fault:
        raise HostError(fault.message, code="app_demo_failed", hint=fault.hint) from fault
    if output.is_json:
        output.value(shown._asdict())
    return Exit.OK if shown.is_ok else Exit.INTERNAL


def _mcp(_: Context, __: Namespace) -> int:
    from inspan.apps.mcp.__main__ import main

    return main()


def _profile(context: Context, args: Namespace) -> int:
    from inspan.apps.bridge.builtin import profile_entry
    from inspan.apps.profiles import register_harness_profile
    from inspan.apps.registry import a2app_home

    HarnessRegistry(context.home.path).manifest(args.harness)  # an id that is none is a usage error
    entry = profile_entry(args.harness, os.environ)
    if entry is None:
        raise UsageError(
            f"{args.harness} cannot be run once in a way that lets it report.",
            code="app_profile_missing",
            hint="Its work can be taken by a seat, or polled for: see `agent-app APP bridge status`.",
        )
    done = register_harness_profile(entry, home=a2app_home())
    if context.output.is_json:
        context.output.value(
            {"status": done.status, "file": str(done.file), "detail": done.detail, "id": entry["id"]}
        )
    else:
        toned = {"registered": good, "refused": bad}.get(done.status, dim)
        context.output.line(
            bold(str(entry["id"])), " is ", toned(done.status), dim(f"  {done.detail or done.file}")
        )
    return Exit.OK if done.status != "refused" else Exit.CONFLICT


def _line(context: Context, args: Namespace) -> int:
    try:
        result = asyncio.run(run_typed_line(args.line))
    except ArgumentsRefused as refused:
        raise UsageError(refused.message, hint=refused.hint) from refused
    context.output.stdout.write(result.stdout)
    context.output.stderr.write(result.stderr)
    return result.code if result.code >= 0 else Exit.INTERNAL


def _manifests(registry: HarnessRegistry) -> list[Manifest]:
    found = [entry.manifest for entry in registry.list()]
    return [manifest for manifest in found if manifest is not None and not manifest.scripted]


def _tell_all(output: Output, connections: list[Connection]) -> int:
    if output.is_json:
        output.value([msgspec.to_builtins(one) for one in connections])
        return 0
    output.table(["HARNESS", "STATE", "FILE"], [_row(one) for one in connections])
    for one in connections:
        _tell_more(output, one)
    return 0


def _tell(output: Output, connection: Connection) -> int:
    if output.is_json:
        output.value(msgspec.to_builtins(connection))
        return 0
    output.table(["HARNESS", "STATE", "FILE"], [_row(connection)])
    _tell_more(output, connection)
    if connection.is_changed and connection.state == "connected":
        output.remark(dim("The harness starts the tools with its next session."))
    return 0


def _row(one: Connection) -> list[Piece]:
    said = _STATES[one.state] + (" now" if one.is_changed else "")
    toned = {"connected": good, "unreadable": bad}.get(one.state, dim)
    return [bold(one.harness), toned(said), one.path or dim("-")]


def _tell_more(output: Output, one: Connection) -> None:
    if one.needs:
        output.remark(warn(f"  {one.harness}, to do: "), one.needs)
    if one.problem:
        output.remark(bad(f"  {one.problem}"))
    if one.state == "connected":
        for warning in one.warnings:
            output.remark(warn(f"  {one.harness}, note: "), warning)
