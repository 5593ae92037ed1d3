"""The `skill` tool: gives a skill's instructions, and the files that they speak of, when they are wanted."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from inspan.agent.skills.catalogue import SkillCatalogue
from inspan.agent.text import clip_middle
from inspan.agent.values import JsonObject, ToolResult
from inspan.model.errors import UsageError

from .arguments import arguments_of, schema_of, short
from .contract import Tool, ToolCallContext
from .ground import Ground, run_blocking
from .names import show_name
from .problems import ToolProblem, telling_problems

__all__ = ["skill_tool"]

_DESCRIPTION = """\
Gives the instructions of a skill from the catalogue in the prompt; with file, a file of the skill's folder; without a name, the \
whole catalogue."""


class SkillArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the `skill` tool."""

    name: Annotated[str, Meta(description="The skill's name; empty lists all skills.")] = ""
    file: Annotated[str, Meta(description="A file of the skill, relative to its folder.")] = ""


def skill_tool(ground: Ground, catalogue: SkillCatalogue) -> Tool:
    """Makes the tool."""
    limit = ground.settings.output_limit_chars

    @telling_problems
    async def execute(arguments: JsonObject, call: ToolCallContext) -> ToolResult:
        wanted = arguments_of(SkillArguments, arguments)
        try:
            text = await run_blocking(call, lambda _: _give(catalogue, wanted, call))
        except UsageError as error:
            raise ToolProblem(str(error)) from error
        return ToolResult.of_text(clip_middle(text, limit))

    return Tool(
        name="skill",
        description=_DESCRIPTION,
        input_schema=schema_of(SkillArguments),
        read_only=True,
        execute=execute,
        kind="read",
        title=_title,
    )


def _title(arguments: JsonObject) -> str:
    name, file = short(arguments.get("name")), short(arguments.get("file"))
    return f"Skill {name}{': ' * bool(file)}{file}" if name else "List skills"


def _give(catalogue: SkillCatalogue, wanted: SkillArguments, call: ToolCallContext) -> str:
    if not wanted.name:
        skills = catalogue.list(call.workspace)
        return (
            "\n".join(f"- {one.name} ({one.origin}): {one.description}" for one in skills)
            or "There are no skills."
        )
    if wanted.file:
        return catalogue.read_file(wanted.name, wanted.file, call.workspace)
    found = catalogue.read(wanted.name, call.workspace)
    parts = [f"# Skill {found.skill.name} ({found.skill.origin})", found.body]
    if found.skill.directory is not None:
        parts.append(f"Folder: {show_name(str(found.skill.directory))}")
    if found.files:
        parts.append("Files, read them with this tool:\n" + "\n".join(f"- {name}" for name in found.files))
    return "\n\n".join(parts)
