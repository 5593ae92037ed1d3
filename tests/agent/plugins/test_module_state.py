"""The hint about state outside of setup: what it finds, what it leaves alone, and where it is shown."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from inspan.agent.plugins.configuration import parse_config_list
from inspan.agent.plugins.entries import resolve_entries
from inspan.agent.plugins.module_state import find_module_state
from support.runtime_plugins import open_host

PLUGIN = """
class P:
    id, version, api_version = "p", "1", 1

    def parse_config(self, raw):
        return raw

    def setup(self, ctx):
        kept = []


plugin = P()
"""


@pytest.mark.requirement("R12")
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("cache = {}", "cache"),
        ("seen: list[str] = []", "seen"),
        ("names = {one for one in 'ab'}", "names"),
        ("CLIENT = httpx.AsyncClient()", "CLIENT"),
        ("timer = threading.Timer(1, print)", "timer"),
        ("kept = defaultdict(list)", "kept"),
        ("def use():\n    global count\n    count = 1", "count"),
    ],
)
def test_state_outside_of_setup_is_hinted_at(line: str, name: str) -> None:
    (hint,) = find_module_state(line)

    assert f"'{name}' (line {1 + ('global' in line)})" in hint


@pytest.mark.requirement("R12")
@pytest.mark.parametrize(
    "source",
    [
        PLUGIN,
        "NAMES = ['a']\n__all__ = ['x']\n",
        "PATTERN = re.compile('x')\nlogger = logging.getLogger(__name__)\n",
        "x: int\n",
        "def\n",
        "\0",
    ],
)
def test_what_is_no_state_is_left_alone(source: str) -> None:
    assert find_module_state(source) == ()


@pytest.mark.requirement("R12")
def test_the_hint_stands_in_the_status_and_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text("cache = {}\n" + PLUGIN)

    async def story() -> tuple[str, tuple[str, ...]]:
        entries = resolve_entries(lists=[parse_config_list([{"id": "p", "module": str(path)}], "a test")])
        async with open_host(tmp_path, entries=entries) as ground:
            return ground.status["p"].state, ground.status["p"].warnings

    assert asyncio.run(story()) == (
        "active",
        ("Its module keeps 'cache' (line 1) outside of setup, where all agents of a process share it.",),
    )
