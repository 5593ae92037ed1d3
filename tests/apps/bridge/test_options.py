"""The flags of `bridge start`: a wrong one ends the command before anything happens."""

from __future__ import annotations

import pytest

from inspan.apps.bridge.options import StartOptions, read_options
from inspan.apps.faults import Misused


@pytest.mark.requirement("P29")
def test_without_flags_the_bridge_goes_to_the_background_with_its_defaults() -> None:
    options = read_options([])
    assert options == StartOptions()
    assert options.is_background
    assert (options.interval_ms, options.task_timeout_ms) == (5000, 900_000)


@pytest.mark.requirement("P29")
def test_every_flag_is_read_and_can_be_told_to_the_process_in_the_background() -> None:
    words = [
        "--harness",
        "acme",
        "--interval=250",
        "--task-timeout",
        "1000",
        "--capability",
        "a",
        "--capability",
        "b",
    ]
    options = read_options(words)
    assert (options.harness, options.interval_ms, options.task_timeout_ms) == ("acme", 250, 1000)
    assert options.capabilities == ("a", "b")
    assert read_options(options.to_args()) == options


@pytest.mark.parametrize("flag", ["--once", "--dry-run", "--foreground"])
def test_what_runs_in_this_process_does_not_go_to_the_background(flag: str) -> None:
    assert not read_options([flag]).is_background


@pytest.mark.requirement("P29")
@pytest.mark.parametrize(
    "words",
    [
        ["--interval", "249"],
        ["--interval", "-1"],
        ["--interval", "5s"],
        ["--interval", "٣٣٣٣"],
        ["--interval", "9" * 30],
        ["--task-timeout", "999"],
        ["--task-timeout"],
        ["--harness"],
        ["--harness", "--once"],
        ["--once=yes"],
        ["--everything"],
        ["now"],
    ],
)
def test_a_flag_that_is_wrong_is_a_usage_error(words: list[str]) -> None:
    with pytest.raises(Misused) as caught:
        read_options(words)
    assert caught.value.exit_status == 2
