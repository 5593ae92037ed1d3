"""`inspan app`: the tools of apps inside a harness, and the tools themselves."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, cast

import msgspec

from inspan.apps.bindings import binding_names, find_binding
from inspan.apps.connecting import Connection, connect, disconnect, show_connection
from inspan.apps.tools.arguments import ArgumentsRefused
from inspan.apps.tools.engine import run_typed_line
from inspan.apps.tools.kickoff import kickoff
from inspan.apps.tools.running import call_tool, is_error, text_for_model
from inspan.apps.tools.table import TOOLS, input_schema, tool_named
from inspan.host.registry import HarnessRegistry
from inspan.model.errors import HostError, InspanError, UsageError
from inspan.model.manifest import Manifest

from .arguments import Namespace, Parser
from .context import Context
from .exits import Exit
from .output import Output, Piece, bad, bold, dim, good, warn

if TYPE_CHECKING:
    from inspan.apps.profiles import Registration

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
    serving.add_argument(
        "--profile",
        metavar="HARNESS",
        help="first let bridges take work to this harness, as `inspan app profile` does",
    )
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
    binding = parser.action("binding", "print the folder of a plugin for a harness", _binding)
    binding.add_argument("name", metavar="NAME", help="the plugin's, as its harness is called")
    binding.example("inspan app binding NAME", "install it from there, as docs/apps-connect.md says")
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
    kicking = parser.action(
        "kickoff",
        "write the prompt that sets an agent to work on an app",
        _kickoff,
        description="For bindings. Reads `{action, name | dir, requirement, blueprint?, port?}` from standard input, where "
        "action is build, modify or operate, and prints a JSON object with the prompt, or with what is missing.",
    )
    kicking.example('echo \'{"action": "build"}\' | inspan app kickoff', "says what is missing")
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
    arguments = _read_object()
    try:
        result = asyncio.run(call_tool(tool, arguments))
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


def _read_object() -> dict[str, object]:
    """The JSON object on standard input."""
    try:
        value: object = json.loads(sys.stdin.buffer.read() or b"{}")
    except (ValueError, RecursionError) as error:
        raise UsageError("Standard input is no JSON.", hint="Give one JSON object.") from error
    if not isinstance(value, dict):
        raise UsageError("Standard input is no JSON object.", hint="Give one JSON object.")
    return cast("dict[str, object]", value)


def _kickoff(context: Context, _: Namespace) -> int:
    made = kickoff(_read_object())
    context.output.value({"kind": made.kind, **made._asdict()})
    return Exit.OK if made.kind == "kickoff" else Exit.USAGE


def _binding(context: Context, args: Namespace) -> int:
    folder = find_binding(args.name)
    if folder is None:
        there = ", ".join(binding_names())
        raise UsageError(f"There is no binding {args.name!r}.", hint=f"There are: {there}.")
    if context.output.is_json:
        context.output.value({"name": args.name, "path": str(folder)})
    else:
        context.output.line(str(folder))
    return Exit.OK


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


def _mcp(context: Context, args: Namespace) -> int:
    from inspan.apps.mcp.__main__ import main

    if args.profile:
        sys.stderr.write(f"bridge profile: {_try_profile(context, args.profile)}\n")
    return main()


def _register(context: Context, harness: str) -> tuple[str, Registration]:
    """Adds a harness's profile; its id, and what became of it."""
    from inspan.apps.bridge.builtin import profile_entry
    from inspan.apps.profiles import register_harness_profile
    from inspan.apps.registry import a2app_home

    HarnessRegistry(context.home.path).manifest(harness)  # an id that is none is a usage error
    entry = profile_entry(harness, os.environ)
    if entry is None:
        raise UsageError(
            f"{harness} cannot be run once in a way that lets it report.",
            code="app_profile_missing",
            hint="Its work can be taken by a seat, or polled for: see `agent-app APP bridge status`.",
        )
    return str(entry["id"]), register_harness_profile(entry, home=a2app_home())


def _try_profile(context: Context, harness: str) -> str:
    """The same, in a line that says what became of it whatever that was."""
    try:
        _, done = _register(context, harness)
    except (InspanError, OSError) as error:
        return f"none. {error}"
    return f"{done.status}. {done.detail}"


def _profile(context: Context, args: Namespace) -> int:
    id, done = _register(context, args.harness)
    if context.output.is_json:
        context.output.value({"status": done.status, "file": str(done.file), "detail": done.detail, "id": id})
    else:
        toned = {"registered": good, "refused": bad}.get(done.status, dim)
        context.output.line(bold(id), " is ", toned(done.status), dim(f"  {done.detail or done.file}"))
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
