"""The `subagent` tool: gives a task to a child agent, which has at most the tools of whoever calls it.

How a child runs is behind `ChildRunner`: it has a conversation of its own, and each of its calls passes the same permission
engine as its parent's, in the same mode. So starting one changes nothing by itself, and the tool is session-local.
"""

from __future__ import annotations

from typing import Annotated, Protocol

from msgspec import Meta, Struct

from inspan.agent.text import clip_middle
from inspan.agent.values import JsonObject, ToolResult, Usage

from .arguments import arguments_of, schema_of, short
from .contract import Tool, ToolCallContext
from .ground import Ground
from .problems import ToolProblem, telling_problems

__all__ = ["SUBAGENT_TOOL", "ChildAllowance", "ChildRequest", "ChildResult", "ChildRunner", "subagent_tool"]

SUBAGENT_TOOL = "subagent"
"""The tool's name."""

_DESCRIPTION = """\
Gives a task to a child agent that starts with an empty conversation, works on it with its own calls, and answers with one text. \
Use it for a task that can be told whole in its prompt and whose steps you do not need to see: a broad search, a review, a change \
apart from your own. Several may run at the same time. Its answer is not shown to the person. It may use the tools that you have, \
or fewer."""


class ChildAllowance(Struct, frozen=True, kw_only=True):
    """What the caller of a call is and has.

    Attributes:
        tools: The names of the tools that it may call itself.
        depth: How many agents are above it; 0 for a session's own agent.
    """

    tools: frozenset[str]
    depth: int


class ChildRequest(Struct, frozen=True, kw_only=True):
    """What a child is to do.

    Attributes:
        name: For people; a few words on one line. Not unique.
        prompt: The task.
        tools: What it may call: some or all of what its parent may.
        depth: Its own, from 1.
        model: `provider:model`; empty for its parent's.
    """

    name: str
    prompt: str
    tools: frozenset[str]
    depth: int
    model: str = ""


class ChildResult(Struct, frozen=True, kw_only=True):
    """How a child ended.

    Attributes:
        text: Its answer; may be empty.
        stop_reason: As a turn's.
        message: Why, where it did not end by itself; free of secrets.
        usage: What it spent; its own children's is theirs.
    """

    text: str
    stop_reason: str
    message: str = ""
    usage: Usage = Usage()


class ChildRunner(Protocol):
    """Runs child agents; the agent implements it."""

    def allowance_of(self, call: ToolCallContext) -> ChildAllowance:
        """What the agent that made this call is and has, by the call's session and `subagent`."""
        ...

    async def run_child(self, request: ChildRequest, call: ToolCallContext) -> ChildResult:
        """Runs a child to its end, in the call's session and workspace, under the call's cancel signal.

        Every call of the child is judged by the session's permission engine and rules, with the child's name in the
        question and in the record. The child's failure is a result, not an exception.

        Raises:
            InspanError: The child could not be started, such as for an unknown model.
        """
        ...


class SubagentArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the `subagent` tool."""

    name: Annotated[
        str, Meta(min_length=1, max_length=80, description="The task in a few words, for people.")
    ]
    prompt: Annotated[
        str,
        Meta(
            min_length=1, description="The task, with all that the child has to know; it sees nothing else."
        ),
    ]
    tools: Annotated[
        list[str], Meta(description="The tools that the child may use; empty for all of yours.")
    ] = []
    model: Annotated[str, Meta(description="`provider:model`; empty for yours.")] = ""


def subagent_tool(ground: Ground, runner: ChildRunner) -> Tool:
    """Makes the tool."""
    deepest, limit = ground.settings.subagent_depth, ground.settings.output_limit_chars

    @telling_problems
    async def execute(arguments: JsonObject, call: ToolCallContext) -> ToolResult:
        wanted = arguments_of(SubagentArguments, arguments)
        request = _request(wanted, runner.allowance_of(call), deepest)
        result = await runner.run_child(request, call)
        text = clip_middle(result.text, limit)
        if result.stop_reason == "end_turn":
            return ToolResult.of_text(text or "[The child agent ended without a text.]")
        reason = f"[The child agent stopped early ({result.stop_reason}){': ' * bool(result.message)}{result.message}]"
        return ToolResult.error(f"{text}\n{reason}".strip())

    return Tool(
        name=SUBAGENT_TOOL,
        description=_DESCRIPTION,
        input_schema=schema_of(SubagentArguments),
        session_local=True,
        execute=execute,
        kind="think",
        title=lambda arguments: f"Subagent: {short(arguments.get('name'))}",
    )


def _request(wanted: SubagentArguments, allowance: ChildAllowance, deepest: int) -> ChildRequest:
    depth = allowance.depth + 1
    if depth > deepest:
        raise ToolProblem(f"Child agents may not go deeper than {deepest}. Do the task yourself.")
    unknown = sorted(set(wanted.tools) - allowance.tools)
    if unknown:
        raise ToolProblem(
            f"A child agent cannot have {', '.join(short(name, 64) for name in unknown[:10])}: you do not have it yourself."
        )
    tools = frozenset(wanted.tools) or allowance.tools
    if depth >= deepest:
        tools -= {SUBAGENT_TOOL}
    return ChildRequest(
        name=short(wanted.name, 80), prompt=wanted.prompt, tools=tools, depth=depth, model=wanted.model
    )
