"""Patterns of rules: what may be said, and that nothing that may be said runs away."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.model.errors import ManifestError
from inspan.plugin.screen_patterns import compile_pattern, find_pattern_fault


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\s*» \d+\. ",
        r"esc to (?:cancel|interrupt)",
        r"^[⠀-⣿] .*\(\d+s",
        r"(?:ab)+",
        r"^Usage limit reached for (?P<message>.+)\.$",
        r"\bretrying in \d{1,3} ?s(?:econds)?\b",
        r"(?i)quota",
        r"^(?!  )\S+",
    ],
)
def test_ordinary_patterns_are_taken(pattern: str) -> None:
    assert find_pattern_fault(pattern) == ""
    assert compile_pattern(pattern).flags & re.MULTILINE


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        (r"(a+)+$", "a repeat is repeated"),
        (r"(?:a|aa)+$", "a choice is repeated"),
        (r"(?:a?b)*", "nothing"),
        (r"^(?:a?b)*", "a repeat is repeated"),
        (r"(?:[ab]{1,3}c){2,9}x", "a repeat is repeated"),
        (r"(a)\1+", "refers back"),
        (r"a.*b.*c.*d.*e", "4 parts"),
        (r"a?a?a?a?a?a?a?a?a?aaaaaaaaa", "9 parts"),
        (r"x.{0,500}y", "counts to 500"),
        (r"a*", "nothing"),
        (r"(", "no regular expression"),
        (r"x(?=(?:b+)+c)", "a repeat is repeated"),
    ],
)
def test_a_pattern_that_could_run_away_is_refused_with_its_reason(pattern: str, fault: str) -> None:
    assert fault in find_pattern_fault(pattern)
    with pytest.raises(ManifestError) as refused:
        compile_pattern(pattern)
    assert fault in refused.value.message


PARTS = st.lists(
    st.sampled_from(["a", "b", ".", "[ab]", "a+", ".*", "a?", "(?:ab)+", "(?:a|b)", "^", "$", "(a", ")", "+"])
)


@settings(max_examples=60, deadline=None)
@given(parts=PARTS.map(lambda parts: "".join(parts[:10])))
def test_whatever_is_taken_comes_to_an_end_on_a_hostile_row(parts: str) -> None:
    if find_pattern_fault(parts):
        return
    # Nothing is asserted of the time: a pattern that ran away would reach the suite's limit.
    compile_pattern(parts).search("a" * 60 + "!")
