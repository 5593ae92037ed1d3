"""The demonstration of apps: it shows what it says, and leaves nothing behind, also where it fails."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import pytest

from inspan.apps.demonstration import run
from inspan.cli.demonstration_agent import script_for


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
