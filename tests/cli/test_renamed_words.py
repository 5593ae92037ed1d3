"""Renamed words of the command line still work, and say what they are called now."""

from __future__ import annotations

import pytest

from inspan.cli import main as program
from inspan.cli.commands import COMMANDS
from inspan.cli.main import RENAMED_COMMANDS, RENAMED_OPTIONS
from inspan.cli.renamed import use_new_words
from support.program import inspan

COMMAND = {"about": "version"}
OPTIONS = {("send", "--await"): "--wait", ("send", "--name"): "--id"}


@pytest.mark.requirement("H-B34")
@pytest.mark.parametrize(
    ("words", "new", "notes"),
    [
        (["about"], ["version"], 1),
        (["send", "a", "--await", "x"], ["send", "a", "--wait", "x"], 1),
        (["send", "--name=d-1", "--await"], ["send", "--id=d-1", "--wait"], 2),
        (["send", "a", "--", "--await", "about"], ["send", "a", "--", "--await", "about"], 0),
        (["watch", "--await"], ["watch", "--await"], 0),
        (["send", "about"], ["send", "about"], 0),
        ([], [], 0),
    ],
)
def test_an_old_word_stands_for_the_new_one_and_text_stays_text(
    words: list[str], new: list[str], notes: int
) -> None:
    read, said = use_new_words(words, commands=COMMAND, options=OPTIONS)

    assert read == new
    assert len(said) == notes


@pytest.mark.requirement("H-B34")
def test_an_old_command_works_with_a_word_on_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "RENAMED_COMMANDS", COMMAND)
    old, new = inspan("about"), inspan("version")

    assert (old.status, old.out) == (new.status, new.out)
    assert "about is called version now" in old.err


def test_no_new_word_is_unknown_and_no_old_one_is_taken_again() -> None:
    assert set(RENAMED_COMMANDS.values()) <= set(COMMANDS)
    assert not set(RENAMED_COMMANDS) & set(COMMANDS)
    assert {command for command, _ in RENAMED_OPTIONS} <= set(COMMANDS)
