"""The examples do what they say, as they stand."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.cancelling import CancelSource
from inspan.agent.events import ToolEnded
from inspan.agent.plugins import demonstration
from support.agent_ground import allow, events_of, make_tool, open_agent, script
from support.runtime_plugins import KINDS

ROOT = Path(__file__).resolve().parents[3]
EVERYTHING = ROOT / "examples" / "one_of_everything"

WITHOUT_NETWORK = """
import os, runpy, socket, sys

def refuse(*_, **__):
    raise AssertionError("the network was used")

socket.socket.connect = refuse
socket.getaddrinfo = refuse
assert not [name for name in os.environ if name.endswith("_KEY") or name.endswith("_TOKEN")]
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.mark.requirement("R1", "R4", "R18", "R24")
def test_one_of_everything_is_loaded_from_its_folder_and_all_of_it_works(tmp_path: Path) -> None:
    async def story() -> None:
        entry = {"id": "one-of-everything", "module": str(EVERYTHING), "config": {"greeting": "Ahoy"}}
        async with open_agent(
            tmp_path, plugin_config=[entry], tools=[make_tool("run", **RUN)], responder=allow
        ) as agent:
            status = agent.runtime_plugin_status()[-1]
            assert (status.state, status.version, status.warnings) == ("active", "1.0.0", ())
            assert status.contributions == dict.fromkeys(KINDS, 1)
            session = await agent.new_session()
            events, _ = await events_of(
                session,
                script('call greet {"name": "Ann"}', 'call run {"command": "rm -rf /"}', "---", "say done"),
            )
            said = [event.result.text for event in events if isinstance(event, ToolEnded)]
            assert said == ["Ahoy, Ann!", "This call was not run: This command is not run here."]
            await session.configure(model="parrot:echo")
            assert (await session.run("hello")).stop_reason == "end_turn"
            assert agent.skills.read("greeting-people").skill.owner == "one-of-everything"
            cancel = CancelSource().signal
            page: Any = await agent.pages.read("one-of-everything", cancel)
            assert page["greetings"] == 1
            assert page["audit events"] > 0
            await agent.pages.act("one-of-everything", "forget", {}, cancel)
            assert (await agent.pages.read("one-of-everything", cancel)) == {
                "greetings": 0,
                "audit events": 0,
            }
        assert agent.runtime_plugin_status()[-1].phase == ""

    asyncio.run(story())


RUN: Any = {"input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}


@pytest.mark.requirement("R10", "R24")
def test_its_configuration_is_checked(tmp_path: Path) -> None:
    async def story() -> Any:
        entry = {
            "id": "one-of-everything",
            "module": str(EVERYTHING),
            "config": {"greting": "x"},
            "required": False,
        }
        async with open_agent(tmp_path, plugin_config=[entry]) as agent:
            return agent.runtime_plugin_status()[-1]

    status = asyncio.run(story())
    assert (status.state, status.phase, status.error) == ("failed", "config", "ValidationError")


@pytest.mark.requirement("R104")
def test_the_demo_of_plugins_needs_no_key_and_no_network(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NETWORK, demonstration.__file__],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    turn = said[said.index("Turn") + 1 :]
    assert turn[-2:] == ["  ended: end_turn", "  connector: closed"]
    # The two calls are made side by side.
    assert sorted(turn[:-2]) == [
        "  asked: may tracker__file_ticket run? yes, once",
        "  audit: count_words of counting is allowed (read_only)",
        "  audit: count_words of counting ran, error: False",
        "  audit: tracker__file_ticket of tracker is allowed (answer)",
        "  audit: tracker__file_ticket of tracker ran, error: False",
    ]


@pytest.mark.requirement("R104")
def test_make_runs_the_demo_and_the_tests_of_plugins() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert "\ndemo-plugins: $(READY) ##" in makefile
    assert "$(BIN)/inspan demo plugins\n" in makefile
    assert "\ntest-plugins: $(READY) ##" in makefile
    assert "$(BIN)/pytest tests/agent/plugins " in makefile
