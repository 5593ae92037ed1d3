"""Versions are compared by their numbers."""

import pytest

from inspan.plugin.versions import is_range, version_lies_in


@pytest.mark.parametrize(
    ("version", "bounds", "answer"),
    [
        ("1.18.33", ">=1.18, <2", "yes"),
        ("1.9.0", ">=1.18", "no"),
        ("1.18", "==1.18.0", "yes"),
        ("2.0.0", "<2", "no"),
        ("2.0.1", ">2", "yes"),
        ("1.0", "<=1", "yes"),
        ("v1.2.3-beta.1", ">=1.2.3", "yes"),
        ("0.61.0", ">=0.61, <0.62", "yes"),
        ("tomorrow", ">=1", "unknown"),
        (None, ">=1", "unknown"),
        ("1.0", "", "unknown"),
        ("1.0", "~1", "unknown"),
    ],
)
def test_a_version_lies_in_a_range_or_not(version: str | None, bounds: str, answer: str) -> None:
    assert version_lies_in(version, bounds) == answer


@pytest.mark.parametrize(
    ("text", "is_one"), [(">=1.18, <2", True), ("==1", True), ("1", False), (">=1;<2", False)]
)
def test_a_range_is_a_list_of_bounds(text: str, is_one: bool) -> None:
    assert is_range(text) is is_one
