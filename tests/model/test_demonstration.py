"""How a harness is shown without a key: the prompts that its manifest makes."""

from __future__ import annotations

from pathlib import Path

from inspan.host.registry import HarnessRegistry
from inspan.model.demonstration import Demonstration


def test_lines_are_put_into_the_prompt_each_with_its_number() -> None:
    shown = Demonstration(ask="?", slow="go {count}:\n{lines}end", slow_line="say {n} of {count}\n")
    assert shown.slow_prompt(2) == "go 2:\nsay 1 of 2\nsay 2 of 2\nend"
    assert Demonstration(ask="?", slow="slow {count}").slow_prompt(7) == "slow 7"


def test_a_real_harness_and_a_scripted_one_can_be_shown() -> None:
    shown = [
        entry.manifest
        for entry in HarnessRegistry(Path("/nonexistent")).list()
        if entry.manifest is not None and entry.manifest.demonstration is not None
    ]
    assert {manifest.scripted for manifest in shown} == {True, False}
    for manifest in shown:
        assert manifest.demonstration is not None
        assert "40" in manifest.demonstration.slow_prompt(40)
        assert "{" not in manifest.demonstration.slow_prompt(40)
