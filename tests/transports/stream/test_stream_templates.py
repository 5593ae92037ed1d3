"""Templates: values go in as they are, and nothing that was put in is read again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.model.templates import placeholders
from inspan.transports.stream.templates import encode_line, fill, recognise

TEMPLATE = {
    "id": "{id}",
    "method": "turn",
    "params": {"text": "{prompt}", "title": "for {session}", "list": ["{prompt}"]},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_a_placeholder_alone_becomes_the_value_and_one_in_a_text_becomes_text() -> None:
    made = fill(TEMPLATE, {"id": 7, "prompt": "hi", "session": "s"})
    assert made == {"id": 7, "method": "turn", "params": {"text": "hi", "title": "for s", "list": ["hi"]}}


def test_a_member_whose_value_is_not_known_is_left_out() -> None:
    made = fill({"a": "{option.x}", "b": ["{option.x}", 1], "c": "is {option.x}"}, {"option": {}})
    assert made == {"b": [1], "c": "is "}


@pytest.mark.parametrize("text", ["{session}", "{prompt}", "{{id}}", "{", "{record.x}"])
def test_what_was_put_in_is_no_template(text: str) -> None:
    assert fill({"a": "{prompt}", "b": "<{prompt}>"}, {"prompt": text, "session": "SECRET"}) == {
        "a": text,
        "b": f"<{text}>",
    }


@given(JSON.filter(lambda value: value is not None))
def test_a_value_of_any_kind_goes_in_unchanged(value: Any) -> None:
    assert fill({"a": "{item}"}, {"item": value}) == {"a": value}


@given(st.text(), st.integers())
def test_a_message_is_recognised_and_gives_back_what_went_in(prompt: str, key: int) -> None:
    found = recognise(TEMPLATE, fill(TEMPLATE, {"id": key, "prompt": prompt, "session": "s"}))
    assert found is not None
    assert (found["id"], found["prompt"]) == (key, prompt)


@pytest.mark.parametrize(
    "message", [{}, {"method": "other"}, {"id": 1}, {"method": "turn", "params": "x"}, [], "turn", None]
)
def test_another_message_is_not_recognised(message: Any) -> None:
    assert recognise(TEMPLATE, message) is None


def test_placeholders_are_found_wherever_they_stand() -> None:
    assert sorted(placeholders(TEMPLATE)) == ["id", "prompt", "prompt", "session"]


def test_a_line_holds_no_separator_that_a_reader_of_lines_might_cut_at() -> None:
    assert encode_line({"a": "x\u2028y\u2029z\n"}) == b'{"a":"x\\u2028y\\u2029z\\n"}\n'
