"""The entry that a harness with a plugin API of its own is mapped onto: tools, skills, a command and a display."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .arguments import ArgumentsRefused
from .running import ProgramResult, call_tool, program_argv, program_for_words, run_program
from .table import TOOLS, ToolSpec, input_schema

__all__ = ["Display", "HostContext", "HostTool", "OptionalHost", "register_app_plugin", "run_typed_line"]

SKILLS_FOLDER = Path(__file__).resolve().parents[1] / "skills"


@dataclass(frozen=True, kw_only=True, slots=True)
class HostTool:
    """A tool, ready to be called by a harness.

    Attributes:
        name: Its name.
        description: For the model.
        input_schema: JSON Schema of its arguments.
        run: Runs it. Raises `ArgumentsRefused` for arguments that cannot be used.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    run: Callable[[Mapping[str, Any]], Awaitable[ProgramResult]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Display:
    """An app that the harness can show: a tab, a panel."""

    id: str
    label: str
    url: str


class HostContext(Protocol):
    """What a harness has to offer."""

    def register_tool(self, tool: HostTool) -> None:
        """Takes one tool."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionalHost:
    """What a harness may offer besides; each may be left out.

    Attributes:
        register_command: Takes a command by its name, with what runs its words and gives an exit status.
        register_skills_dir: Takes the folder of the skills.
        register_display: Shows an app. Where it is there, no other opener is used.
        log: Takes a line for the harness's log.
    """

    register_command: Callable[[str, Callable[[Sequence[str]], Awaitable[int]]], None] | None = None
    register_skills_dir: Callable[[Path], None] | None = None
    register_display: Callable[[Display], None] | None = None
    log: Callable[[str], None] | None = None


def register_app_plugin(
    host: HostContext,
    optional: OptionalHost | None = None,
    *,
    tools: Sequence[ToolSpec] = TOOLS,
    skills_dir: Path = SKILLS_FOLDER,
    environment: Mapping[str, str] | None = None,
) -> tuple[HostTool, ...]:
    """Gives a harness the tools and, where it takes them, the skills, the `agent-app` command and a display."""
    offers = optional or OptionalHost()

    def host_tool(tool: ToolSpec) -> HostTool:
        async def run(arguments: Mapping[str, Any]) -> ProgramResult:
            if offers.register_display is None or tool.name != "agent_app_serve":
                return await call_tool(tool, arguments, environment=environment)
            result = await call_tool(tool, {**arguments, "open": False}, environment=environment)
            shown = _display(result, str(arguments.get("dir", "")))
            if shown is not None:
                offers.register_display(shown)
            return result

        return HostTool(
            name=tool.name, description=tool.description, input_schema=input_schema(tool), run=run
        )

    made = tuple(host_tool(tool) for tool in tools)
    for tool in made:
        host.register_tool(tool)
    if offers.register_skills_dir is not None:
        offers.register_skills_dir(skills_dir)
    if offers.register_command is not None:

        async def command(words: Sequence[str]) -> int:
            result = await run_program(
                [*program_argv(program_for_words(words), environment), *words], environment=environment
            )
            if offers.log is not None:
                for line in (result.stdout + result.stderr).splitlines():
                    offers.log(line)
            return result.code

        offers.register_command("agent-app", command)
    return made


async def run_typed_line(line: str, *, environment: Mapping[str, str] | None = None) -> ProgramResult:
    """Runs what a person typed after the harness's `agent-app` command, by the verb in it.

    Raises:
        ArgumentsRefused: The line is empty or its quotes do not close.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ArgumentsRefused(f"The line cannot be read: {error}.") from error
    return await run_program(
        [*program_argv(program_for_words(words), environment), *words], environment=environment
    )


def _display(result: ProgramResult, folder: str) -> Display | None:
    answer = result.json
    if not result.ok or not isinstance(answer, dict):
        return None
    url = answer.get("url")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - checked below
    if not isinstance(url, str):
        return None
    name, id = answer.get("name"), answer.get("id")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - checked below
    return Display(
        id=f"agent-app:{id if isinstance(id, str) and id else folder}",
        label=name if isinstance(name, str) and name else "Agent App",
        url=url,
    )
