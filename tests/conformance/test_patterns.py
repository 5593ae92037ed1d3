"""Regular expressions whose time grows faster than their text are told from those that only look so."""

import pytest

from inspan.conformance.patterns import nested_repeat


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+",
        "(a*)*$",
        r"(?:\w\w+)+x",
        r"(?:\s*\S*)*",
        "((?:ab?)*)*",
        "([a-z]+-?)+",
        r"(?:.+,)+",
        r"(a{2,}){5,}",
    ],
)
def test_a_repeat_of_a_repeat_is_found(pattern: str) -> None:
    assert nested_repeat(pattern) == pattern


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "a+b+c*",
        r"(\d+(?:\.\d+)+)",
        "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        r"(?i)quota|rate.?limit|\b429\b",
        r"^Session .* not found",
        r"(?:[^,]+,)*",
        "(a+){1,3}",
        "(unclosed",
    ],
)
def test_what_a_certain_character_parts_is_none(pattern: str) -> None:
    assert nested_repeat(pattern) == ""
