"""The built-in tools of one agent, together."""

from __future__ import annotations

from inspan.agent.skills.catalogue import SkillCatalogue

from .changing import edit_tool, write_tool
from .contract import Tool
from .ground import Ground
from .listing import list_tool
from .reading import read_tool
from .search import search_tool
from .settings import ToolSettings
from .shell import shell_tool
from .skill import skill_tool
from .subagent import ChildRunner, subagent_tool
from .todo import PlanBoard, todo_tool

__all__ = ["BuiltinTools"]


class BuiltinTools:
    """The tools, and what they share. The tools of memory are not among them: they belong to the plugin `memory`.

    Args:
        settings: What is set about them.
        skills: What the `skill` tool reads.
        children: Runs child agents; None leaves the tool out.
    """

    def __init__(
        self, settings: ToolSettings, skills: SkillCatalogue, children: ChildRunner | None = None
    ) -> None:
        self._ground = Ground(settings)
        self.plans = PlanBoard()
        """The sessions' plans, which `todo` keeps."""
        tools = [read_tool, write_tool, edit_tool, list_tool, search_tool]
        made = [make(self._ground) for make in tools]
        if settings.shell is not None:
            made.append(shell_tool(self._ground, settings.shell))
        if settings.fetch is not None:
            from .fetch import fetch_tool  # its HTTP client is not loaded for nothing

            made.append(fetch_tool(settings.fetch))
        made += [todo_tool(self.plans), skill_tool(self._ground, skills)]
        if children is not None and settings.subagent_depth > 0:
            made.append(subagent_tool(self._ground, children))
        self.tools: tuple[Tool, ...] = tuple(made)
        """In the order in which a model is shown them."""

    def close(self) -> None:
        """Removes the files of long outputs. Calling it twice is safe."""
        self._ground.spills.close()
