"""The page on the programs for apps holds what they do: its first session works, and its verbs are there."""

import re
import shlex
from pathlib import Path

import pytest

from inspan.apps.programs.a2app.help import help_for as a2app_help
from inspan.apps.programs.agent_app.help import help_for as agent_app_help
from support.apps.programs import a2app, agent_app, free_port, home_for_test

PAGE = Path(__file__).resolve().parents[2] / "docs" / "apps-programs.md"


def test_the_first_session_on_the_page_works_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    [session] = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    with home_for_test() as folder:
        monkeypatch.chdir(folder)
        # Not the ports that apps of whoever runs this, or of a test beside it, stand on.
        port = free_port()
        monkeypatch.setattr("inspan.apps.ports.FIRST_PORT", port)
        monkeypatch.setattr("inspan.apps.ports.LAST_PORT", port)
        try:
            for line in session.splitlines():
                program, *words = shlex.split(line.removeprefix("$ "))
                done = {"a2app": a2app, "agent-app": agent_app}[program](*words)
                assert done.status == 0, (line, done.err)
        finally:
            agent_app("todo", "stop")


def test_every_command_on_the_page_has_a_help_of_its_own() -> None:
    named = set(re.findall(r"(a2app|agent-app) (?:APP|todo|DIR) ([a-z]+)", PAGE.read_text(encoding="utf-8")))
    assert len(named) > 10
    helps = {"a2app": a2app_help, "agent-app": agent_app_help}
    for program, verb in named - {("a2app", "home")}:
        assert helps[program]([verb]) != helps[program]([]), (program, verb)
