"""Recording a console: what comes out is a set of fixtures that lint reads, replays as it was, and tells of nobody."""

import json
from pathlib import Path

import pytest

from inspan.conformance.console_fixtures import read_sets, snapshots_of
from support.console_harness import HARNESS, add_console_harness, keys_of, press
from support.person import at_terminal
from support.program import inspan

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def program(throwaway_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The scripted console, on the PATH."""
    return add_console_harness(throwaway_home, monkeypatch)


def test_a_program_is_recorded_without_a_person_and_replays_as_it_was(
    program: Path, throwaway_home: Path
) -> None:
    folder = throwaway_home / "h"
    to = folder / "recordings" / "terminal"
    command = f"scripted-console {program} asks"

    result = inspan(
        "--json",
        "record",
        "--command",
        command,
        "--to",
        str(to),
        "--for",
        "2",
        "--label",
        "ask=needs_input:permission",
    )

    assert result.status == 0, result
    assert result.value["states"] == ["ask"]
    assert result.value["left"] == []
    [one] = read_sets(folder)
    assert (one.name, one.provenance, one.terminal, one.columns, one.rows) == (
        "80x24",
        "live",
        "answering",
        80,
        24,
    )
    assert (one.states["ask"].state, one.states["ask"].kind) == ("needs_input", "permission")
    assert snapshots_of((one,))["80x24/ask"].lines[0] == "Run this command?"
    replayed = inspan("harness", "replay", HARNESS, str(to / "80x24.0.raw"), "--size", "80x24", "--json")
    assert replayed.status == 0, replayed
    assert (replayed.values[-1]["state"], replayed.values[-1]["kind"]) == ("needs_input", "permission")


def test_a_person_operates_a_program_and_labels_what_is_shown(program: Path, throwaway_home: Path) -> None:
    to = throwaway_home / "h" / "recordings" / "terminal"
    words = ["record", "--command", f"scripted-console {program}", "--to", str(to), "--set", "by-hand"]
    with at_terminal(*words) as person:
        person.until_shown("> type here")
        person.type(b"\x1cl")
        person.until_shown("label (NAME STATE KIND")
        person.type(b"No Label\r")
        person.until_shown("is no label")
        person.type(b"ready idlee\x7f\r")
        person.until(lambda shown: "label" not in shown and "> type here" in shown, "it goes on")
        person.type(b"a")
        person.until_shown("answers ^[]7501;?")
        person.type(b"b")
        person.until_shown("Working")
        person.type(b"\x1cl")
        person.until_shown("label (")
        person.type(b"busy running\r")
        person.until(lambda shown: "label" not in shown, "it goes on")
        person.type(b"\x1c\x1c")
        assert person.ended() == 0
        assert person.look().lines[0] == "$ my own screen"
        assert person.answers == b""
        assert "by-hand.json  ready, busy" in person.text()
    [one] = read_sets(throwaway_home / "h")
    screens = snapshots_of((one,))
    assert screens["by-hand/ready"].lines[0] == "> type here"
    assert "Working" in screens["by-hand/busy"].lines[0]
    assert keys_of(program) == b"ab"


def test_a_seat_s_console_is_recorded_and_goes_on(console: Path, throwaway_home: Path) -> None:
    to = throwaway_home / "h" / "recordings" / "terminal"
    words = ["--size", "100x30", "--for", "2", "--label", "idle=idle"]

    result = inspan("--json", "record", "worker", "--to", str(to), *words)

    assert result.status == 0, result
    [one] = read_sets(throwaway_home / "h")
    # It was under way already: what was there before is drawn by us.
    assert (one.provenance, one.columns, one.rows) == ("derived", 100, 30)
    assert snapshots_of((one,))["100x30/idle"].lines[0] == "size 100x30"
    press(b"b")
    assert keys_of(console) == b"b"


def test_home_workspace_names_and_keys_are_neutralised_where_they_stand(
    throwaway_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "not-to-be-told-1")
    workspace = throwaway_home / "my project"
    workspace.mkdir()
    folder = throwaway_home / "h"
    script = throwaway_home / "say.py"
    script.write_text(
        "import os; print(os.getcwd(), os.environ['ACME_API_KEY'], 'me@example.org', 'codename', end='')\n"
    )
    words = [
        "--workspace",
        str(workspace),
        "--hide",
        "codename",
        "--size",
        "200x5",
        "--label",
        "s=idle",
        "--for",
        "20",
    ]
    result = inspan(
        "--json",
        "record",
        "--command",
        f"python3 {script}",
        "--to",
        str(folder / "recordings" / "terminal"),
        *words,
    )

    assert result.status == 0, result
    assert result.value["left"] == []
    [one] = read_sets(folder)
    line = snapshots_of((one,))["200x5/s"].lines[0]
    shape = "".join(one if one in "/ -_." else "x" for one in str(workspace))
    assert line == f"{shape} xxx-xx-xx-xxxx-x xx@xxxxxxx.xxx xxxxxxxx"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "a seat or a command"),
        (["worker", "--command", "true"], "a seat or a command"),
        (["--command", "true", "--size", "0x0"], "is none"),
        (["--command", "true", "--label", "What Is This", "--for", "1"], "is no label"),
        (["--command", "true"], "takes a terminal"),
        (["--command", "'open", "--for", "1"], "cannot be read"),
        (["--command", "true", "--for", "1"], "No screen was labelled"),
        (["--command", "true", "--set", "../x", "--for", "1"], "is no name of a set"),
    ],
)
def test_what_cannot_be_recorded_is_refused(throwaway_home: Path, words: list[str], said: str) -> None:
    result = inspan("record", *words, "--to", str(throwaway_home / "to"))

    assert result.status == 2, result
    assert said in result.err
    assert not (throwaway_home / "to").exists()


def test_a_set_that_is_there_is_not_written_over(throwaway_home: Path) -> None:
    to = throwaway_home / "to"
    words = ["record", "--command", "true", "--to", str(to), "--for", "20", "--label", "a=idle"]

    assert inspan(*words).status == 0
    before = {file.name: file.read_bytes() for file in to.iterdir()}
    again = inspan(*words)

    assert again.status == 2
    assert "is there already" in again.err
    assert {file.name: file.read_bytes() for file in to.iterdir()} == before
    assert json.loads(before["80x24.json"])["states"]["a"]["state"] == "idle"
