"""The plugins are found, each says how it is installed, and a prompt is made for those that need one."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from inspan.cli.main import main
from support.apps.bindings import BINDINGS

SIX = ["claude-code", "craftbot", "dsh", "hermes", "openclaw", "pi"]


@pytest.mark.requirement("P23")
@pytest.mark.parametrize("name", SIX)
def test_a_plugin_s_folder_is_printed_and_says_how_it_is_installed(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["app", "binding", name]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert folder == BINDINGS / name
    assert (folder / "README.md").is_file()


def test_an_unknown_one_is_a_usage_error_that_names_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["app", "binding", "nothing"]) == 2
    assert ", ".join(SIX) in capsys.readouterr().err


def test_a_prompt_is_made_for_bindings_or_what_is_missing_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(text: str) -> tuple[int, Any]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        status = main(["app", "kickoff"])
        return status, capsys.readouterr()

    status, said = ask('{"action": "build", "name": "Books", "requirement": "one\\ntwo"}')
    made = json.loads(said.out)
    assert (status, made["kind"], made["activity"]) == (0, "kickoff", "creator")
    assert "> one\n> two" in made["prompt"]
    status, said = ask('{"action": "build"}')
    assert (status, json.loads(said.out)["kind"]) == (2, "error")
    status, said = ask("[]")
    assert status == 2
    assert "no JSON object" in said.err
