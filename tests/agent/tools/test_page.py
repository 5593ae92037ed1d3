"""The page about the tools says what is so."""

import re
from pathlib import Path

from inspan.agent.skills.catalogue import SkillCatalogue
from inspan.agent.tools.builtin import BuiltinTools
from inspan.agent.tools.settings import FetchSettings, ToolSettings

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "agent-tools.md").read_text(encoding="utf-8")


def test_its_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    found: dict[str, object] = {}
    exec(example, found)  # noqa: S102  the page's own
    assert isinstance(found["settings"], ToolSettings)


def test_it_names_every_tool(tmp_path: Path) -> None:
    tools = BuiltinTools(ToolSettings(fetch=FetchSettings()), SkillCatalogue(workspace=tmp_path)).tools
    rows = re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE)
    assert {tool.name for tool in tools} <= set(rows)
    for tool in tools:
        (row,) = re.findall(rf"^\| `{tool.name}` \|.*$", PAGE, re.MULTILINE)
        assert ("| yes" in row) is (tool.read_only or tool.session_local)
