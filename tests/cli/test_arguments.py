import io
import sys
from collections.abc import Iterator

import pytest

from inspan.cli.arguments import Parser
from inspan.cli.commands import COMMANDS, GROUPS, parser_of
from inspan.cli.completing import candidates
from inspan.cli.completion import SHELLS, script_of
from inspan.cli.reference import render_reference
from inspan.model.posture import Approvals, Sandbox, Unattended
from support.program import inspan
from support.scripted_http import ScriptedHttp


def _parsers() -> Iterator[Parser]:
    for name in COMMANDS:
        parser = parser_of(name)
        yield parser
        yield from parser.actions.values()


def test_every_command_stands_in_the_help_under_a_heading() -> None:
    out = inspan("--help").out

    assert {command.group for command in COMMANDS.values()} == set(GROUPS)
    for name, command in COMMANDS.items():
        assert f"  {name} " in out
        assert command.summary in out


@pytest.mark.parametrize("parser", list(_parsers()), ids=lambda parser: parser.prog)
def test_every_command_has_a_summary_an_example_and_words_for_each_argument(parser: Parser) -> None:
    shown = parser.format_help()

    assert parser.summary
    assert parser.examples or parser.actions
    assert all(line.split()[0] == "inspan" or "inspan" in line for line, _ in parser.examples)
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage] - argparse has no other way to ask
        assert action.help or action.metavar == "ACTION", action
    assert "--json" in shown


@pytest.mark.parametrize("parser", list(_parsers()), ids=lambda parser: parser.prog)
def test_a_help_says_what_the_command_does_and_fits_into_80_columns(
    parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown, _, examples = parser.format_help().partition("\nexamples:\n")

    said = " ".join(shown.split())
    assert f"{parser.summary[:1].upper()}{parser.summary[1:]}." in said
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    assert [line for line in examples.splitlines() if len(line) > 100] == []


def test_the_help_fits_into_80_columns() -> None:
    assert [line for line in inspan("--help").out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (["send"], "SEAT is missing."),
        (["seat", "fork"], "NAME, NEW are missing."),
        (["seat"], "ACTION is missing."),
    ],
)
def test_what_is_missing_is_named_and_nothing_that_may_be_left_out(words: list[str], fact: str) -> None:
    assert inspan(*words).err.splitlines()[0] == f"inspan: {fact}"


def test_the_postures_are_those_of_the_model() -> None:
    parser = parser_of("seat").actions["add"]
    choices = {action.dest: list(action.choices or []) for action in parser._actions}  # pyright: ignore[reportPrivateUsage]

    assert choices["approvals"] == [one.value for one in Approvals]
    assert choices["sandbox"] == [one.value for one in Sandbox]
    assert choices["unattended"] == [one.value for one in Unattended]


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["seat"],
        ["seat", "nonsense"],
        ["seat", "show"],
        ["seat", "show", "a", "b"],
        ["seat", "add", "a", "--approvals", "all"],
        ["seat", "add", "a", "--harness", "h", "--env", "=x"],
        ["send", "a", "x", "--timeout", "-1"],
        ["send", "a", "x", "--timeout", "nan"],
        ["harness", "probe"],
        ["watch", "--until", "idle"],
        ["watch", "--after", "-3"],
        ["--nonsense"],
        ["--home"],
        ["--home", "", "seat", "list"],
        ["seat", "list", "--home="],
        ["completion", "csh"],
    ],
    ids=" ".join,
)
def test_a_command_line_of_a_wrong_form_does_nothing_and_says_where_to_look(words: list[str]) -> None:
    for_people, as_json = inspan(*words), inspan("--json", *words)

    assert for_people.status == as_json.status == 2
    assert for_people.out == ""
    assert for_people.err.startswith("inspan: ")
    assert "  next: " in for_people.err
    assert as_json.value["error"]["code"] == "invalid_argument"


def test_a_command_that_is_misspelled_is_guessed() -> None:
    assert "Did you mean 'seat'?" in inspan("seta", "list").err


def test_no_words_show_the_help_and_count_as_a_wrong_form() -> None:
    result = inspan()

    assert result.status == 2
    assert "Begin here" in result.out


@pytest.mark.parametrize(
    "words", [["seat", "list", "--json"], ["--json", "seat", "list"], ["seat", "--json", "list"]]
)
def test_the_common_options_stand_anywhere(daemon: ScriptedHttp, words: list[str]) -> None:
    daemon.on("GET", "/v1/seats", [])

    assert inspan(*words).value == []


def test_options_may_stand_between_the_words_of_a_prompt(daemon: ScriptedHttp) -> None:
    daemon.on("POST", "/v1/seats/a/prompts", {"id": "x", "seat": "a", "state": "queued"})

    assert inspan("send", "a", "--id", "x", "look", "--json", "here").status == 0
    assert inspan("send", "a", "--id", "x", "--", "--json", "is text").status == 0
    assert [body["text"] for body in daemon.bodies("POST", "/v1/seats/a/prompts")] == [
        "look here",
        "--json is text",
    ]


def test_a_prompt_is_read_from_standard_input(daemon: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon.on("POST", "/v1/seats/a/prompts", {"id": "x", "seat": "a", "state": "queued"})
    for words in (["send", "a", "-"], ["send", "a"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("öl\n".encode())))
        assert inspan(*words).status == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"  \n")))

    assert inspan("send", "a", "-").status == 2
    assert [body["text"] for body in daemon.bodies("POST", "/v1/seats/a/prompts")] == ["öl\n", "öl\n"]


def test_names_are_completed_from_what_the_daemon_knows(daemon: ScriptedHttp) -> None:
    daemon.on(
        "GET", "/v1/seats", [{"name": "review", "status": "idle", "queue": [{"id": "d_1", "text": "x"}]}]
    )
    daemon.on(
        "GET", "/v1/harnesses", [{"id": "h", "name": "H", "modes": [{"id": "acp"}]}, {"id": "i", "modes": []}]
    )
    daemon.on("GET", "/v1/permissions", [{"id": "p_1", "seat": "review", "tool_call": {"title": "Run it"}}])
    daemon.on("GET", "/v1/questions", [{"id": "q_1", "seat": "review", "message": "Which?"}])

    def found(*words: str) -> list[str]:
        return [word for word, _ in candidates(list(words), "")]

    assert found("send") == ["review"]
    assert found("seat", "show") == ["review"]
    assert found("seat", "add", "x", "--harness") == ["h", "i"]
    assert found("seat", "add", "x", "--harness", "h", "--mode") == ["acp"]
    assert found("seat", "add", "x", "--harness", "i", "--mode") == []
    assert found("approve") == ["review", "p_1"]
    assert found("delivery", "withdraw") == ["d_1"]
    assert found("seat") == ["add", "list", "show", "fork", "set", "remove"]
    assert found("answer") == ["review", "q_1"]
    assert "seat" in found()
    assert found("nonsense") == []


def test_completing_starts_no_daemon_and_says_nothing_where_none_runs() -> None:
    result = inspan("__complete", "send", "")

    assert result == (0, "", "")


def test_completion_is_by_the_beginning_with_a_word_about_each() -> None:
    lines = inspan("__complete", "sea").out.splitlines()

    assert lines == [f"seat\t{COMMANDS['seat'].summary}"]
    assert "--harness" in inspan("__complete", "run", "--ha").out


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_s_script_asks_the_program(shell: str) -> None:
    assert "inspan __complete" in script_of(shell)
    assert inspan("completion", shell).out == script_of(shell)


def test_the_bash_script_completes_a_line() -> None:
    import shutil
    import subprocess
    from pathlib import Path

    bash = shutil.which("bash")
    assert bash
    program = Path(sys.executable).parent
    script = f"""
        PATH={program}:$PATH
        source /dev/stdin <<'EOF'
{script_of("bash")}
EOF
        COMP_WORDS=(inspan seat re)
        COMP_CWORD=2
        _inspan
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["remove"]


def test_the_reference_page_is_fresh() -> None:
    from pathlib import Path

    page = Path(__file__).resolve().parents[2] / "docs" / "cli.md"

    assert page.read_text(encoding="utf-8") == render_reference(), "run `python -m inspan.cli.reference`"
