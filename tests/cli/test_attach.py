"""Attaching: a person's real terminal on one side, a console on a real pty on the other, a daemon between them."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.console_harness import keys_of
from support.person import DEADLINE_S, Person, at_terminal
from support.program import inspan

LEAVE = b"\x1c\x1c"
PROMPT = "> type here"

pytestmark = pytest.mark.timeout(300)


def value(*words: str, status: int = 0) -> Any:
    result = inspan("--json", *words)
    assert result.status == status, result
    return result.value


def until(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.02)
    return found


def size() -> tuple[int, int]:
    shown = value("screen", "worker")
    return shown["columns"], shown["rows"]


def assert_given_back(person: Person) -> None:
    """The terminal is as it was: the screen below, the modes, the title, the keyboard, the line discipline."""
    shown = person.look()
    assert shown.lines[0] == "$ my own screen"
    assert shown.is_alternate is False
    assert PROMPT not in person.text()
    assert shown.modes is not None
    assert not shown.modes & {1, 9, 1000, 1002, 1003, 1004, 1006, 2004, 2026}
    assert 25 in shown.modes
    assert not shown.keyboard_flags
    assert not shown.title
    assert person.settings_now() == person.settings


def test_a_person_sees_the_console_types_into_it_and_leaves_it_running(console: Path) -> None:
    with at_terminal("attach", "worker") as person:
        person.until_shown(PROMPT)
        assert "my own screen" not in person.text()
        person.type(b"b")
        person.until_shown("Working (esc to interrupt)")
        person.type(b"i" + LEAVE)
        assert person.ended() == 0
        assert_given_back(person)
        assert "Detached from worker; its harness runs on." in person.text()
        assert "`inspan attach worker` comes back" in person.text()
    assert keys_of(console) == b"bi"
    assert value("seat", "show", "worker")["launch"]["status"] == "ready"


def test_the_console_has_the_size_of_the_terminal_from_the_start_and_follows_it(console: Path) -> None:
    assert size() != (90, 30)
    with at_terminal("attach", "worker", columns=90, rows=30) as person:
        person.until_shown("size 90x30")
        person.resize(70, 20)
        person.until_shown("size 70x20")
        assert size() == (70, 20)
        person.resize(1, 1)
        until(lambda: size() == (1, 1), "it is one cell")
        person.resize(61, 21)
        person.until_shown("size 61x21")
        person.type(LEAVE)
        assert person.ended() == 0


def test_who_watches_types_nothing_and_resizes_nothing(console: Path) -> None:
    before = size()
    with at_terminal("attach", "worker", "--watch", columns=60, rows=20) as person:
        person.until_shown(PROMPT)
        assert value("seat", "show", "worker")["console"]["viewers"] == 1
        person.until_shown("a part of 120x40, without colours: this terminal has 60x20")
        person.resize(61, 21)
        person.until_shown("this terminal has 61x21")
        person.resize(130, 41)
        person.until(lambda shown: PROMPT in shown and "a part" not in shown, "all of it is shown")
        person.type(b"bbb\r\x1b[A")
        person.type(b"\x03")
        assert person.ended() == 0
        assert_given_back(person)
    assert keys_of(console) == b""
    assert size() == before


def test_a_second_keyboard_is_refused_and_can_be_taken_over(console: Path) -> None:
    with at_terminal("attach", "worker") as first:
        first.until_shown(PROMPT)
        with at_terminal("attach", "worker") as refused:
            assert refused.ended() == 4
            assert "may type" in refused.text()
            assert "--steal" in refused.text()
            assert b"1049" not in refused.output
        with at_terminal("attach", "worker", "--steal", columns=80, rows=20) as second:
            second.until_shown("size 80x20")
            first.type(b"b")
            assert first.ended() == 4
            assert_given_back(first)
            assert "Somebody else took the keyboard of worker." in first.text()
            second.type(b"s" + LEAVE)
            assert second.ended() == 0
    assert keys_of(console) == b"s"


def test_a_harness_that_ends_ends_the_attachment_and_it_says_how(console: Path) -> None:
    with at_terminal("attach", "worker") as person:
        person.until_shown(PROMPT)
        person.type(b"q")
        assert person.ended() == 0
        assert_given_back(person)
        assert "The harness of worker has ended with status 0." in person.text()
        assert "`inspan start worker`" in person.text()
    assert inspan("attach", "worker").status == 2  # no terminal here
    with at_terminal("attach", "worker") as person:
        assert person.ended() == 4
        assert "has no terminal now" in person.text()
        assert b"1049" not in person.output


def test_a_daemon_that_is_killed_gives_the_terminal_back_and_the_next_one_goes_on(console: Path) -> None:
    with at_terminal("attach", "worker") as person:
        person.until_shown(PROMPT)
        person.type(b"b")
        person.until_shown("Working")
        os.kill(value("daemon", "status")["pid"], signal.SIGKILL)
        assert person.ended() == 20
        assert_given_back(person)
        assert "The daemon is gone; the harness of worker runs on." in person.text()
    with at_terminal("attach", "worker") as person:
        person.until_shown("Working")
        person.type(b"i")
        person.until(lambda shown: PROMPT in shown and "Working" not in shown, "it is idle")
        person.type(LEAVE)
        assert person.ended() == 0
    assert keys_of(console) == b"bi"


def test_a_daemon_that_is_stopped_says_so(console: Path) -> None:
    with at_terminal("attach", "worker") as person:
        person.until_shown(PROMPT)
        assert inspan("daemon", "stop").status == 0
        assert person.ended() == 20
        assert_given_back(person)
        assert "the harness of worker runs on" in person.text()
    assert keys_of(console) == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_a_signal_that_ends_it_gives_the_terminal_back_first(console: Path, number: signal.Signals) -> None:
    with at_terminal("attach", "worker") as person:
        person.until_shown(PROMPT)
        person.process.send_signal(number)
        assert person.ended() == -number
        assert_given_back(person)


def test_a_program_that_asks_its_terminal_gets_one_answer_though_a_person_s_terminal_would_answer_too(
    console: Path,
) -> None:
    with at_terminal("attach", "worker") as person:
        person.until_shown(PROMPT)
        person.type(b"a")
        shown = person.until_shown("answers ")
        person.type(b"s")
        person.until_shown("size ")
        person.type(LEAVE)
        assert person.ended() == 0
        assert person.answers == b""
    assert shown.count("^[[?") == 1
    # Beside the answers, which the program took in before it went on, it read what the person typed.
    assert keys_of(console) == b"as"


def test_a_person_who_types_fast_and_much_is_understood_byte_for_byte(console: Path) -> None:
    typed = bytes(byte for byte in range(256) if byte != 0x1C and chr(byte) not in "ibptlsawkdeczncq89") * 100
    with at_terminal("attach", "worker") as person:
        person.until_shown(PROMPT)
        for start in range(0, len(typed), 777):
            person.type(typed[start : start + 777])
        until(lambda: len(keys_of(console)) >= len(typed), "all keys have come")
        person.type(LEAVE)
        assert person.ended() == 0
    assert keys_of(console) == typed


def test_a_flood_of_output_is_followed_and_leaving_still_works(console: Path) -> None:
    with at_terminal("attach", "worker") as person:
        person.until_shown(PROMPT)
        person.type(b"n")
        person.until_shown("flooded")
        person.type(LEAVE)
        assert person.ended() == 0
        assert_given_back(person)


def test_a_console_that_comes_back_from_the_other_screen_is_drawn_again_on_the_one_that_is_lent(
    console: Path,
) -> None:
    with at_terminal("attach", "worker") as person:
        person.until_shown(PROMPT)
        person.type(b"8")
        person.until(lambda shown: "the other screen" in shown and PROMPT not in shown, "the other is shown")
        person.type(b"9")
        person.until(
            lambda shown: PROMPT in shown and "the other" not in shown, "the main one is shown again"
        )
        assert person.look().is_alternate is True
        person.type(LEAVE)
        assert person.ended() == 0
        assert_given_back(person)


def test_the_lines_above_the_screen_are_shown_and_the_console_is_there_again_afterwards(
    console: Path,
) -> None:
    with at_terminal("attach", "worker", columns=80, rows=20) as person:
        person.until_shown(PROMPT)
        person.type(b"n")
        person.until_shown("flooded")
        person.type(b"\x1cs")
        person.until_shown("q goes back to the screen")
        person.type(b"g")
        person.until(lambda shown: "line of text" in shown.splitlines()[0], "the first lines are shown")
        assert PROMPT not in person.text()
        person.type(b"q")
        person.until_shown(PROMPT)
        person.type(b"b")
        person.until_shown("Working")
        person.type(LEAVE)
        assert person.ended() == 0
        assert_given_back(person)
    assert keys_of(console) == b"nb"


def test_other_keys_can_be_chosen_to_leave(console: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with at_terminal("attach", "worker", "--detach-keys", "ctrl-],d") as person:
        person.until_shown(PROMPT)
        person.type(b"\x1cb\x1d\x1dd")
        assert person.ended() == 0
    assert keys_of(console) == b"\x1cb\x1d"
    monkeypatch.setenv("INSPAN_DETACH_KEYS", "ctrl-g")
    with at_terminal("--json", "attach", "worker") as person:
        person.until_shown(PROMPT)
        person.type(b"\x07")
        assert person.ended() == 0
        ending = next(line for line in person.text().splitlines() if line.startswith("{"))
        assert json.loads(ending + "}" * (not ending.endswith("}")))["ended"] == "detached"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--detach-keys", "nonsense"], "names no keys"),
        (["--detach-keys", "d"], "typed all the time"),
        (["--detach-keys", "ctrl-\\"], "begin with those"),
        (["--watch", "--steal"], "no keyboard to take"),
        ([], "To attach takes a terminal"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_drawn(words: list[str], said: str) -> None:
    result = inspan("attach", "worker", *words)

    assert result.status == 2
    assert said in result.err
    assert "next:" in result.err


def test_a_screen_is_printed_as_text_and_as_json(console: Path) -> None:
    assert inspan("screen", "worker").out == "> type here\n  model: scripted\n"
    shown = value("screen", "worker", "--scrollback", "5")
    assert shown["lines"][:2] == ["> type here", "  model: scripted"]
    assert shown["cursor"]["row"] == 1
    assert value("screen", "worker", "--scrollback", "-1", status=2)
    assert value("screen", "nobody", status=3)["error"]["code"] == "unknown_seat"
