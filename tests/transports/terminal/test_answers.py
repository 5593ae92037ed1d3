"""What a seat's terminal answers, in which order, and what it hands out while it is fed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.transports.terminal.ghostty import GhosttyScreen
from inspan.transports.terminal.identity import IDENTITY
from inspan.transports.terminal.opening import Engine, open_screen
from inspan.transports.terminal.screen import ScreenEvent, ScreenReset, ScreenSize, UnknownSequence

SIZE = ScreenSize(rows=24, columns=80)
ENGINES: tuple[Engine, ...] = ("ghostty", "avt")
DA1 = b"\x1b[?62;22c"

ANSWERS = {
    "device attributes": (b"\x1b[c", DA1),
    "second device attributes": (b"\x1b[>c", b"\x1b[>1;0;0c"),
    "third device attributes": (b"\x1b[=c", b"\x1bP!|00000000\x1b\\"),
    "its name": (b"\x1b[>0q", b"\x1bP>|libghostty\x1b\\"),
    "whether it works": (b"\x1b[5n", b"\x1b[0n"),
    "where the cursor is": (b"\x1b[3;7H\x1b[6n", b"\x1b[3;7R"),
    "a mode that is not set": (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
    "a mode that is set": (b"\x1b[?2004h\x1b[?2004$p", b"\x1b[?2004;1$y"),
    "a mode that nobody knows": (b"\x1b[?9876$p", b"\x1b[?9876;0$y"),
    "the keyboard protocol": (b"\x1b[>5u\x1b[?u", b"\x1b[?5u"),
    "its text colour": (b"\x1b]10;?\x07", b"\x1b]10;rgb:d8d8/d8d8/d8d8\x07"),
    "its background": (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:1010/1010/1010\x1b\\"),
    "a colour of its palette": (b"\x1b]4;1;?\x07", b"\x1b]4;1;rgb:cccc/6666/6666\x07"),
    "whether it is dark": (b"\x1b[?996n", b"\x1b[?997;1n"),
    "its size in cells": (b"\x1b[18t", b"\x1b[8;24;80t"),
    "the size of a cell": (b"\x1b[16t", b"\x1b[6;16;8t"),
    "a setting": (b"\x1bP$qm\x1b\\", b"\x1bP1$r0m\x1b\\"),
    "a capability": (b"\x1bP+q524742\x1b\\", b"\x1bP1+r524742=38\x1b\\"),
}
UNANSWERED = {
    "what is on the clipboard": b"\x1b]52;c;?\x07",
    "its title, which could type into a program": b"\x1b]2;rm -rf\x07\x1b[21t",
    "graphics, which rules could not read": b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
}


class Listener:
    """Keeps what is handed out, and says that status reports are taken."""

    def __init__(self) -> None:
        self.events: list[ScreenEvent] = []

    def __call__(self, event: ScreenEvent) -> bytes:
        self.events.append(event)
        is_question = isinstance(event, UnknownSequence) and event.content == b"7501;?"
        return b"<yes>" if is_question else b""


def listening(size: ScreenSize = SIZE) -> tuple[GhosttyScreen, Listener]:
    listener = Listener()
    return GhosttyScreen(size, on_event=listener), listener


@pytest.mark.parametrize("about", ANSWERS)
def test_a_question_is_answered_as_a_good_terminal_answers(about: str) -> None:
    question, answer = ANSWERS[about]
    screen, _ = listening()
    assert screen.feed(question) == answer
    screen.close()


@pytest.mark.parametrize("about", UNANSWERED)
def test_what_would_give_something_away_is_not_answered(about: str) -> None:
    screen, _ = listening()
    assert screen.feed(UNANSWERED[about]) == b""
    screen.close()


def test_the_answer_about_status_reports_stands_before_the_answer_that_ends_the_wait() -> None:
    screen, _ = listening()
    assert screen.feed(b"\x1b]7501;?\x1b\\\x1b[c") == b"<yes>" + DA1
    assert screen.feed(b"\x1b[c\x1b]7501;?\x07") == DA1 + b"<yes>"
    screen.close()


def test_the_order_of_answers_does_not_depend_on_how_the_questions_arrive() -> None:
    written = b"\x1b[>0q\x1b[?u\x1b]7501;?\x1b\\\x1b[?2026$p\x1b]11;?\x07\x1b[c"
    whole, _ = listening()
    expected = whole.feed(written)
    assert expected.index(b"<yes>") < expected.index(DA1)
    for cut in range(len(written)):
        screen, _ = listening()
        assert screen.feed(written[:cut]) + screen.feed(written[cut:]) == expected
        screen.close()
    whole.close()


def test_unknown_sequences_are_handed_out_as_they_were_written() -> None:
    screen, listener = listening()
    screen.feed(b"\x1b]7501;state=idle\x07\x1b[?2026h\x1b[?1049h\x1b]7501;state=working\x1b\\\x1b_Zapc\x1b\\")
    assert listener.events == [
        UnknownSequence(kind="osc", content=b"7501;state=idle", terminator="bel"),
        UnknownSequence(kind="osc", content=b"7501;state=working", terminator="st"),
        UnknownSequence(kind="apc", content=b"Zapc"),
    ]
    screen.close()


def test_a_sequence_over_the_limit_is_handed_out_as_cut() -> None:
    screen, listener = listening()
    screen.feed(b"\x1b]7501;msg=" + b"A" * 10_000 + b"\x07")
    (event,) = listener.events
    assert isinstance(event, UnknownSequence)
    assert event.is_truncated
    assert len(event.content) == 4096
    screen.close()


@pytest.mark.parametrize(("mark", "cause"), [(b"\x1bc", "full_reset"), (b"\x1b]133;A\x07", "shell_prompt")])
@pytest.mark.parametrize("engine", ENGINES)
def test_resets_are_told_in_their_place(mark: bytes, cause: str, engine: Engine) -> None:
    before, after = b"\x1b]7501;state=idle\x07", b"\x1b]7501;state=done\x07"
    for cut in range(len(before + mark + after)):
        listener = Listener()
        screen = open_screen(SIZE, on_event=listener, engine=engine)
        written = before + mark + after
        screen.feed(written[:cut])
        screen.feed(written[cut:])
        told = [event.cause if isinstance(event, ScreenReset) else event.content for event in listener.events]
        assert told == ([b"7501;state=idle", cause, b"7501;state=done"] if screen.answers else [cause])
        screen.close()


def test_a_reset_inside_an_open_string_is_a_reset_for_the_emulator_too() -> None:
    screen, listener = listening()
    screen.feed(b"\x1b]2;kept\x07text\x1b]0;open\x1bc")
    assert listener.events == [ScreenReset(cause="full_reset")]
    assert screen.snapshot().lines[0] == ""
    assert screen.snapshot().title == ""
    screen.close()


def test_what_a_handler_raises_comes_out_after_all_was_shown() -> None:
    def refuse(event: ScreenEvent) -> bytes:
        raise LookupError(str(event))

    screen = GhosttyScreen(SIZE, on_event=refuse)
    with pytest.raises(LookupError):
        screen.feed(b"\x1b]7501;?\x07shown")
    assert screen.snapshot().lines[0] == "shown"
    assert screen.feed(b"\x1b[c") == DA1
    screen.close()


def test_a_size_that_is_told_unasked_follows_every_resize() -> None:
    screen, _ = listening()
    screen.feed(b"\x1b[?2048h")
    assert screen.resize(ScreenSize(rows=50, columns=200)) == b"\x1b[48;50;200;800;1600t"
    screen.close()


def test_the_identity_is_what_the_recordings_were_made_with() -> None:
    assert IDENTITY.environment() == {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    assert (IDENTITY.name, IDENTITY.has_program_status) == ("libghostty", True)


def test_endless_strings_cost_no_memory_and_end_at_their_terminator() -> None:
    screen, listener = listening()
    for introducer in (b"\x1b]0;", b"\x1b]7501;", b"\x1b_G", b"\x1bPq", b"\x1b]52;c;"):
        screen.feed(introducer)
        for _ in range(64):
            screen.feed(b"A" * 65_536)
        screen.feed(b"\x1b\\")
    screen.feed(b"\x1b[H\x1b[2Jstill here")
    assert screen.snapshot().lines[0] == "still here"
    assert all(isinstance(event, UnknownSequence) and len(event.content) <= 4096 for event in listener.events)
    screen.close()


PIECES = st.one_of(
    st.binary(max_size=12),
    st.sampled_from(
        [
            b"\x1b",
            b"[",
            b"]",
            b";",
            b"\x07",
            b"\x1b\\",
            b"?",
            b"\x1bc",
            b"\x1b]7501;",
            b"\x1b[6n",
            b"\x1b[999999999A",
            b"\x1b[?1049h",
            b"\x1b[?2026h",
            b"\x9b",
            b"\xe7\x95",
            "界".encode(),
            b"\x1b[38:2::",
            b"\x1bP",
            b"\x18",
        ]
    ),
)


@settings(max_examples=60, deadline=None)
@given(pieces=st.lists(PIECES, max_size=40))
def test_no_bytes_break_a_screen_and_no_cut_changes_it(pieces: list[bytes]) -> None:
    whole, heard = listening(ScreenSize(rows=5, columns=12))
    parts, heard_in_parts = listening(ScreenSize(rows=5, columns=12))
    answered = whole.feed(b"".join(pieces))
    assert b"".join(parts.feed(piece) for piece in pieces) == answered
    assert parts.snapshot().lines == whole.snapshot().lines
    assert heard_in_parts.events == heard.events
    whole.close()
    parts.close()


def test_emulators_are_loaded_with_the_first_screen_and_not_before() -> None:
    program = (
        "import sys\n"
        "import inspan.transports.terminal.opening, inspan.cli.main, inspan.daemon.main\n"
        "assert not {'pyghostty', 'avt', 'cffi'} & set(sys.modules), sorted(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
