"""Every example of the page on runtime plugins is run as it stands there."""

from __future__ import annotations

import ast
import asyncio
import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.faults import TRACEBACKS
from inspan.agent.hook_events import HOOK_EVENTS
from inspan.agent.plugins import contract
from inspan.agent.plugins.configuration import parse_config_list
from inspan.agent.plugins.life import PluginLimits
from inspan.agent.plugins.packages import find_packages
from support.runtime_plugins import KINDS, MadePlugin, open_host

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "runtime-plugins.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def names_in(block: str) -> set[str]:
    """What a block defines at its top."""
    return {
        name
        for node in ast.parse(block).body
        for name in (
            [node.name]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            else [one.id for one in node.targets if isinstance(one, ast.Name)]
            if isinstance(node, ast.Assign)
            else []
        )
    }


PLUGINS = [block for block in blocks("python") if {"setup", "plugin"} & names_in(block)]
OTHERS = [block for block in blocks("python") if block not in PLUGINS]


def run(block: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "example"}
    exec(compile(block, "runtime-plugins.md", "exec"), namespace)  # noqa: S102
    return namespace


def test_the_page_has_an_example_of_every_kind(tmp_path: Path) -> None:
    async def story() -> set[str]:
        kinds: set[str] = set()
        for block in PLUGINS:
            async with open_host(tmp_path, plugin_of(block)) as ground:
                kinds |= set(ground.host.status()[0].contributions)
        return kinds

    assert asyncio.run(story()) == KINDS
    assert len(PLUGINS) == 11


def plugin_of(block: str) -> Any:
    namespace = run(block)
    return namespace.get("plugin") or MadePlugin(id="example", setup=namespace["setup"])


@pytest.mark.requirement("R91")
@pytest.mark.parametrize("block", PLUGINS)
def test_an_example_is_set_up_started_and_ended_without_a_fault(tmp_path: Path, block: str) -> None:
    async def story() -> Any:
        async with open_host(tmp_path, plugin_of(block)) as ground:
            assert ground.host.status()[0].state == "active"
        return ground.host.status()[0]

    status = asyncio.run(story())

    assert (status.state, status.phase, status.warnings) == ("stopped", "", ())


@pytest.mark.parametrize("block", OTHERS)
def test_the_other_examples_run(block: str) -> None:
    level, root = TRACEBACKS.level, logging.getLogger()
    handlers = list(root.handlers)
    try:
        run(block)
    finally:
        TRACEBACKS.setLevel(level)
        root.handlers[:] = handlers
        root.setLevel(logging.WARNING)


@pytest.mark.requirement("RD5")
def test_tracebacks_are_seen_by_whoever_does_what_the_page_says(tmp_path: Path) -> None:
    (shown,) = [block for block in OTHERS if TRACEBACKS.name in block]
    made = """
import asyncio
from inspan.agent import Agent

class Failing:
    id, version, api_version = "failing", "1", 1
    def parse_config(self, raw):
        return raw
    def setup(self, ctx):
        raise LookupError("the reason")

async def main():
    async with Agent.create(
        workspace=".", home="home", runtime_plugins=[{"plugin": Failing(), "required": False}]
    ):
        pass

asyncio.run(main())
"""

    def told(program: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path, env={"HOME": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        return done.stderr

    assert "the reason" not in told(made)
    assert "LookupError: the reason" in told(shown + made)
    assert "LookupError: the reason" in told("import inspan.agent.faults\n" + shown + made)


def test_every_list_on_the_page_is_one_and_the_package_is_one(tmp_path: Path) -> None:
    documents = [json.loads(block) for block in blocks("json")]
    lists = [one["runtimePlugins"] for one in documents if "runtimePlugins" in one]
    (package,) = [one for one in documents if "runtimePlugins" not in one]

    assert [len(parse_config_list(one, "the page")) for one in lists] == [3, 1]
    folder = tmp_path / "packages" / "one"
    (folder / "skills").mkdir(parents=True)
    (folder / "style.md").write_text("Briefly.")
    (folder / "inspan.plugin.json").write_text(json.dumps(package))
    assert [one.status.state for one in find_packages(tmp_path)] == ["active"]


@pytest.mark.requirement("R12", "R87", "R91", "R92")
def test_the_page_says_what_a_plugin_may_not_forget() -> None:
    for said in (
        "A plugin has all the authority of the process.",
        "it is no sandbox",
        "Make clients, timers and whatever changes in it, not at module\n  scope",
        "It cannot force code to stop: some of its work may go on.",
        "Code that blocks stalls the whole agent, and no time limit can fire",
        "Unloading a plugin from a live agent, dependencies between plugins, an installer, a sandbox, loading of browser code",
        "This is no replay and no compliance log",
    ):
        assert said in PAGE
    assert f"({PluginLimits().start_s:.0f} s)" in PAGE
    assert "five seconds for everything" in PAGE
    assert PluginLimits().stop_s == 5
    assert all(f"`{name}`" in PAGE for name in HOOK_EVENTS)


@pytest.mark.requirement("R92")
def test_a_context_offers_nothing_of_what_there_is_not() -> None:
    offered = {name for name in vars(contract.PluginContext) if not name.startswith("_")}

    assert offered == {
        "audit", "auth", "config", "data_dir", "hooks", "logger", "models", "on_dispose", "on_start", "pages",
        "prompts", "run_sync", "signal", "skills", "tools", "workspace",
    }  # fmt: skip
    assert all(f"ctx.{name}" in PAGE for name in offered)
