"""Neutralising: nothing of a person stays, and nothing moves."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.conformance.neutralising import Secrets, find_secrets

KEY = "sk-" + "proj-Zm9vYmFyYmF6cXV4MTIzNDU2"
ENVIRONMENT = {
    "HOME": "/home/alice",
    "ACME_API_KEY": "value-of-a-key-99",
    "SHORT_TOKEN": "x1",
    "LANG": "en_GB.UTF-8",
}


def secrets(*words: str) -> Secrets:
    return find_secrets(
        ENVIRONMENT, workspace="/home/alice/src/tool", user="alice", host="laptop.example.org", words=words
    )


@pytest.mark.parametrize(
    "text",
    [
        "/home/alice/src/tool/a.py",
        "~alice is alice",
        "alice@example.com",
        "signed in as bob.b+x@mail.example.co.uk",
        f"key {KEY} ok",
        "ghp_" + "abcdefghijklmnop1234",
        "eyJhbGciOiJI." + "eyJzdWIiOiIxMjM0." + "SflKxwRJSMeKKF2QT4",
        "value-of-a-key-99",
        "on laptop, or laptop.example.org",
        "hush-hush",
    ],
)
def test_what_tells_of_a_person_is_replaced_byte_for_byte(text: str) -> None:
    data = f"\x1b[1m{text}\x1b[0m\r\n".encode()
    made = secrets("hush-hush").neutralise(data)

    assert len(made) == len(data)
    assert made.startswith(b"\x1b[1m")
    assert made.endswith(b"\x1b[0m\r\n")
    for secret in ("alice", "bob", "example", KEY[6:], "abcdefgh", "eyJ", "value-of", "laptop", "hush"):
        assert secret.encode() not in made


def test_paths_keep_their_shape_and_other_words_stay_as_they_are() -> None:
    made = secrets().neutralise(
        b"/home/alice/src/tool/a.py malice en_GB.UTF-8 x1 skip-this-long-enough-word task-list"
    )

    assert made == b"/xxxx/xxxxx/xxx/xxxx/a.py malice en_GB.UTF-8 x1 skip-this-long-enough-word task-list"


def test_names_that_everybody_has_are_no_secret() -> None:
    found = find_secrets({"HOME": "/root"}, workspace="/w", user="root", host="ab")

    assert found.names == ()
    assert found.neutralise(b"root of /root") == b"root of /xxxx"


def test_what_is_wrapped_over_rows_is_named_and_what_was_replaced_is_not() -> None:
    assert list(secrets().find_left(["  write to ali", "ce@example.com or"]))
    assert not list(secrets().find_left(["xxxxx@xxxxxxx.xxx", "/xxxx/xxxxx/xxx/xxxx"]))


@given(
    st.text(min_size=3, max_size=20, alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]))
)
def test_whatever_a_word_is_made_of_neither_bytes_nor_columns_move(word: str) -> None:
    made = Secrets(texts=[word]).neutralise(word.encode())

    assert len(made) == len(word.encode())
    assert len(made.decode()) == len(word)
    for before, after in zip(word, made.decode(), strict=True):
        is_wide = unicodedata.east_asian_width(before) in ("W", "F")
        assert (unicodedata.east_asian_width(after) in ("W", "F")) is is_wide
