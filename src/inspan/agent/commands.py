"""What a person can ask of the agent itself in a conversation: `/compact`, `/context`, `/plugins`, `/pages`, `/skills`.

No model is asked, and nothing of it is sent to one.
"""

from __future__ import annotations

from typing import NamedTuple

from inspan.agent.agent import Agent
from inspan.agent.cancelling import CancelSource
from inspan.agent.faults import fault_name, is_fault
from inspan.agent.plugins.contract import Page
from inspan.agent.plugins.overview import overview_markdown
from inspan.agent.plugins.page_drawing import draw_page
from inspan.agent.session import Session
from inspan.agent.skills.values import Skill
from inspan.agent.threads import run_in_thread
from inspan.agent.values import Json
from inspan.model.errors import InspanError

__all__ = ["COMMANDS", "Command", "command_in", "run_command"]


class Command(NamedTuple):
    """A command.

    Attributes:
        name: Its name, without the slash.
        description: What it does.
    """

    name: str
    description: str


COMMANDS = (
    Command("compact", "sum up the conversation so far, to make room"),
    Command("context", "show the session's model, mode, usage and instructions' parts"),
    Command("plugins", "show the runtime plugins and declarative packages, and how they are"),
    Command("pages", "show the pages that plugins bring"),
    Command("skills", "show the skills that can be read"),
)
"""Every command, in the order of a list."""

_NAMES = {command.name for command in COMMANDS}


def command_in(text: str) -> str | None:
    """The command that a prompt is, if it is one and nothing else."""
    word = text.strip()
    return word[1:] if word.startswith("/") and word[1:] in _NAMES else None


async def run_command(agent: Agent, session: Session, name: str) -> str:
    """Does it, and says what is to be shown: Markdown."""
    match name:
        case "compact":
            return await _compact(session)
        case "context":
            return _context(agent, session)
        case "plugins":
            return overview_markdown(agent.runtime_plugin_status(), agent.package_status())
        case "pages":
            return await _pages(agent, session)
        case _:
            return await _skills(agent, session)


async def _compact(session: Session) -> str:
    try:
        done = await session.compact()
    except InspanError as error:
        return f"It could not be summed up: {error.message}"
    if done is None:
        return "There is nothing to sum up yet."
    return f"Summed up: about {done.before_tokens} tokens before, {done.after_tokens} now.\n\n{done.summary}"


def _context(agent: Agent, session: Session) -> str:
    settings, usage = session.settings, session.usage
    lines = [
        f"- model: `{settings.model}`{f', effort {settings.effort}' if settings.effort else ''}",
        f"- permission mode: `{settings.permission_mode.value}`, {len(session.rules)} rules",
        f"- workspace: `{session.workspace}`",
        f"- turns: {session.turns}; messages sent to the model: {len(session.messages)} of {len(session.transcript)}",
        f"- tokens: {usage.input_tokens} in, {usage.output_tokens} out"
        + (f"; cost ${usage.cost_usd:.4f}" if usage.cost_usd is not None else "; cost not known"),
        f"- tools: {', '.join(owned.tool.name for owned in session.tools.list()) or 'none'}",
    ]
    overview = overview_markdown(agent.runtime_plugin_status(), agent.package_status())
    return "\n".join([*lines, "", overview])


async def _pages(agent: Agent, session: Session) -> str:
    drawn: list[str] = []
    for one in agent.pages.list():
        try:
            data = await agent.pages.read(one.page.id, CancelSource().signal, workspace=session.workspace)
        except InspanError as error:
            drawn.append(f"## {one.page.title}\n\n{error.message}")
        else:
            drawn.append(_drawn(one.page, data))
    return "\n\n".join(drawn) or "No pages."


def _drawn(page: Page, data: Json) -> str:
    try:
        return draw_page(page, data)
    except (
        BaseException
    ) as error:  # what a plugin gave may be no data, and the other pages are drawn all the same
        if not is_fault(error):
            raise
        return f"## {page.title}\n\nThe page could not be drawn ({fault_name(error)})."


async def _skills(agent: Agent, session: Session) -> str:
    def look() -> tuple[tuple[Skill, ...], tuple[str, ...]]:
        return agent.skills.list(session.workspace), agent.skills.warnings(session.workspace)

    skills, warnings = await run_in_thread(look, name="skills")
    lines = [f"- **{one.name}** ({one.origin}): {one.description}" for one in skills] or ["No skills."]
    return "\n".join([*lines, *([""] if warnings else []), *(f"- warning: {one}" for one in warnings)])
