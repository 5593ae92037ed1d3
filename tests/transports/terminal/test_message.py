"""Messages: no character of one presses a key, and none is taken for a command of the console."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspan.model.errors import UsageError
from inspan.model.typing_recipe import Composer, TypingRecipe
from inspan.transports.terminal.message import check_command, check_message, encode_message
from inspan.transports.terminal.screen import CursorPlace, ScreenSize, Snapshot

RECIPE = TypingRecipe(composer=Composer(home="^> "))
PASTE, PASTE_END = b"\x1b[200~", b"\x1b[201~"


def snapshot(*modes: int) -> Snapshot:
    return Snapshot(
        size=ScreenSize(rows=2, columns=20),
        lines=("", ""),
        cursor=CursorPlace(row=0, column=0, is_visible=True),
        revision=1,
        modes=frozenset(modes),
    )


@pytest.mark.requirement("L21")
@given(st.text(), st.booleans(), st.integers(min_value=1, max_value=9))
@example("a\x1b[201~\r", True, 3)
@example("\x9b31m", False, 2)
@example("\ud800", True, 1)
def test_whatever_is_sent_is_text_alone_or_refused(text: str, is_bracketed: bool, chunk_bytes: int) -> None:
    recipe = msgspec.structs.replace(RECIPE, chunk_bytes=chunk_bytes)
    with contextlib.suppress(UsageError):
        pieces = encode_message(text, recipe, snapshot(2004) if is_bracketed else snapshot())
        data = b"".join(pieces)
        if is_bracketed:
            assert data.startswith(PASTE)
            assert data.endswith(PASTE_END)
            data = data[len(PASTE) : -len(PASTE_END)]
        typed = data.decode()
        assert typed.replace("\r", "\n") == text.replace("\r\n", "\n")
        assert not any(ord(letter) < 32 and letter not in "\r\t" for letter in typed)
        assert not any(127 <= ord(letter) < 160 for letter in typed)


def test_line_ends_of_another_system_are_line_ends() -> None:
    assert check_message("a\r\nb") == "a\nb"
    assert encode_message("a\r\nb", RECIPE, snapshot(2004)) == (PASTE + b"a\rb" + PASTE_END,)


@pytest.mark.parametrize("text", ["/quit", "!rm -r build", "  /quit", "\n/quit", "/"])
def test_a_message_that_begins_as_a_command_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_command(text, RECIPE.commands)
    assert refused.value.code == "message_is_command"


@pytest.mark.parametrize("text", ["say /quit", "what is 1/2?", "", " ", "\\/quit"])
def test_a_message_that_only_holds_such_a_character_is_none(text: str) -> None:
    check_command(text, RECIPE.commands)


def test_a_console_without_commands_takes_everything_for_text() -> None:
    check_command("/quit", "")
