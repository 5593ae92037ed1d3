"""The demonstration of apps: it shows what it says, and leaves nothing behind, also where it fails."""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from inspan.apps import demonstration
from inspan.apps.conformance.reference import make_reference_app
from inspan.apps.demonstration import run
from inspan.cli.demonstration_agent import script_for
from support.apps.served import serving


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch, throwaway_home: Path) -> Path:
    """Where throwaway folders are made, so that what is left of them can be seen."""
    place = throwaway_home / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.mark.requirement("P29", "P30")
def test_work_of_the_board_is_taken_to_our_own_agent_done_reported_and_closed(folders: Path) -> None:
    said: list[str] = []
    shown = run(said.append)
    assert shown.is_ok, said
    assert shown.task["status"] == "completed"
    assert shown.summary == "To do: 2; Doing: 1; Done: 0" == shown.task["result"]["summary"]
    text = "\n".join(said)
    assert shown.url in text
    assert "its model is a script" in text
    states = [
        line.split(":")[0]
        for line in map(str.strip, said)
        if re.match(r"(submitted|working|completed)\b", line)
    ]
    assert (states[0], states[-1]) == ("submitted", "completed")
    assert "working" in states
    assert shown.leftovers == ()
    assert list(folders.iterdir()) == []


@pytest.mark.requirement("P29")
def test_where_the_own_agent_is_not_installed_a_script_stands_in_and_that_is_said(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec

    def without_the_extra(name: str, package: str | None = None) -> object:
        return None if name in ("jsonschema", "yaml") else find_spec(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without_the_extra)
    said: list[str] = []
    shown = run(said.append)
    assert shown.is_ok, said
    assert shown.summary == "To do: 2; Doing: 1; Done: 0" == shown.task["result"]["summary"]
    text = "\n".join(said)
    assert "a script stands in for it" in text
    assert "pip install 'inspan[agent]'" in text
    assert "The agent is real" not in text
    assert list(folders.iterdir()) == []


def test_two_demonstrations_at_once_are_two_apps(folders: Path) -> None:
    agent = (sys.executable, "-c", "pass")
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(run, _say_nothing, agent=agent) for _ in range(2)]
        one, other = (each.result() for each in running)
    assert one.url != other.url
    assert one.leftovers == other.leftovers == ()
    assert {one.task["reason"], other.task["reason"]} == {"no_outcome_reported"}
    assert one.task["app"] != other.task["app"]


def test_a_demonstration_whose_port_was_taken_meanwhile_goes_to_another(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="isp-") as place,
        serving(make_reference_app(Path(place))) as held,
    ):
        ports = iter([held.port])
        free_port = demonstration._free_port  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(demonstration, "_free_port", lambda: next(ports, None) or free_port())
        shown = run(_say_nothing, agent=(sys.executable, "-c", "pass"))
        assert shown.url.rpartition(":")[2] != str(held.port)
        assert shown.leftovers == ()


def test_an_agent_that_does_nothing_is_shown_to_have_done_nothing_and_all_is_cleaned_up(
    folders: Path,
) -> None:
    said: list[str] = []
    shown = run(said.append, agent=(sys.executable, "-c", "print('I did it all!')"))
    assert not shown.is_ok
    assert (shown.task["status"], shown.task["reason"]) == ("failed", "no_outcome_reported")
    assert "I did it all!" in "\n".join(said)
    assert (shown.summary, shown.leftovers) == ("", ())
    assert list(folders.iterdir()) == []


def test_the_script_reports_on_the_task_of_the_prompt_and_takes_its_data_for_data() -> None:
    data = '{"cards": {"x; rm -rf ~ #": 1}}'
    prompt = f"Task: tsk_1\n--- a2app:payload:ab ---\n{data}\n--- end a2app:payload:ab ---\n"
    script = script_for(prompt)
    assert "'x; rm -rf ~ #: 1'" in script
    assert script.count("call shell ") == 4
    assert "a2app . tasks complete tsk_1 --result" in script
    with pytest.raises(ValueError, match="no prompt of a bridge"):
        script_for("hello")


def _say_nothing(_: str) -> None:
    return None
