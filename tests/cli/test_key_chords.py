"""Chords of keys: found in every way in which terminals tell keys, and nothing else is kept from the program."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.cli.key_chords import KeyChords, chord_of, words_of
from inspan.model.errors import UsageError

CHORDS = {"detach": chord_of("ctrl-\\,ctrl-\\"), "scroll": chord_of("ctrl-\\,s")}


def pressed(*pieces: bytes) -> tuple[bytes, str | None]:
    """What the program gets of all pieces, and the first action."""
    chords = KeyChords(CHORDS)
    keys = b""
    for piece in pieces:
        came = chords.press(piece)
        keys += came.keys
        if came.action is not None:
            return keys, came.action
    return keys, None


@pytest.mark.parametrize(
    "twice",
    [
        b"\x1c\x1c",
        b"\x1b[92;5u\x1b[92;5u",  # kitty
        b"\x1b[92;5:1u\x1b[92;5:3u\x1b[92;5:1u",  # with releases
        b"\x1b[92;5:1u\x1b[92;5:2u",  # held down
        b"\x1b[92;69u\x1b[92;133u",  # with caps lock, with num lock
        b"\x1b[92::35;5u\x1b[92;5;28u",  # with other layouts' keys and text
        b"\x1b[57442;5u\x1b[92;5u\x1b[57442;1:3u\x1b[57442;5u\x1b[92;5u",  # with the modifier itself
        b"\x1b[27;5;92~\x1b[27;5;92~",  # xterm
        b"\x1c\x1b[92;5u",
    ],
)
def test_a_chord_is_found_in_every_way_in_which_terminals_tell_it(twice: bytes) -> None:
    keys, action = pressed(b"before" + twice + b"after")

    assert action == "detach"
    assert keys in (b"before", b"before\x1b[57442;5u")


@pytest.mark.parametrize("scroll", [b"\x1cs", b"\x1b[92;5u\x1b[115u", b"\x1b[92;5u\x1b[92;5:3us"])
def test_a_key_after_a_held_one_may_be_a_plain_one(scroll: bytes) -> None:
    assert pressed(b"x", scroll) == (b"x", "scroll")


@pytest.mark.parametrize(
    "typed",
    [
        b"plain text \xc3\xa9\r\n\t\x7f\x03\x1a",
        b"\x1cx",
        b"\x1b[92;5ux",
        b"\x1b[92;5u\x1b[92;5:3u\x1b[97u\x1b[97;1:3u",
        b"\x1b[A\x1bOA\x1b[1;5C\x1b[<0;10;10M\x1b[I\x1b[O",
        b"\x1b[200~pasted\x1b[201~",
        b"\x1b[92u\x1b[92u",  # without ctrl
        b"\x1b[92;7u\x1b[92;7u",  # with ctrl and alt
        b"\x1b[92;5:3u\x1b[92;5:3u",  # only let go
        b"\x1b",
        b"\x1b\x1b[A",
    ],
)
def test_everything_else_is_typed_as_it_came(typed: bytes) -> None:
    assert pressed(typed) == (typed, None)


@given(st.lists(st.binary(max_size=6), max_size=8))
def test_no_byte_is_lost_or_moved(pieces: list[bytes]) -> None:
    keys, action = pressed(*pieces)
    typed = b"".join(pieces)

    assert typed.startswith(keys)
    if action is None:
        kept_back = typed[len(keys) :]
        assert not kept_back.replace(b"\x1c", b"") or kept_back.startswith((b"\x1c", b"\x1b["))


def test_keys_are_named_and_named_back() -> None:
    for words in ("ctrl-\\,ctrl-\\", "ctrl-],d", "ctrl-a", "ctrl-^,ctrl-_,z,9"):
        assert words_of(chord_of(words)) == words
    assert chord_of("Ctrl-P, ctrl-q") == (0x10, 0x11)


@pytest.mark.parametrize(
    "words",
    ["", "d", "1,ctrl-a", "ctrl-", "ctrl-[", "ctrl-1", "ctrl-ab", "ctrl-a,,", "ctrl-a,b,c,d,e", "ctrl-a,é"],
)
def test_what_is_no_chord_or_would_be_typed_all_the_time_is_refused(words: str) -> None:
    with pytest.raises(UsageError):
        chord_of(words)


def test_a_chord_that_begins_another_is_refused() -> None:
    with pytest.raises(UsageError):
        KeyChords({"a": chord_of("ctrl-]"), "b": chord_of("ctrl-],d")})
