"""Which messages the built-in consoles would take for commands of their own, so that none is sent as a prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspan.host import HarnessRegistry
from inspan.transports.terminal.message import begins_command

REGISTRY = HarnessRegistry(Path("/nowhere"))
COMMANDS = {
    "aider": "/!",
    "claude-code": "/!",
    "codex": "/!",
    "copilot": "/!&",
    "gemini": "/!?",
    "kimi": "/",
    "opencode": "/!",
    "qwen": "/!?",
    "vibe": "/!&",
}
"""The characters that their programs, or who documents them, name; a slash in each."""
MARKS = "/!?&#@$"


@pytest.mark.parametrize("harness", sorted(COMMANDS))
def test_a_message_is_a_command_by_the_characters_that_this_console_knows_and_by_no_other(
    harness: str,
) -> None:
    typing = REGISTRY.manifest(harness).modes["terminal"].terminal.typing
    assert typing is not None
    taken = {mark for mark in MARKS if begins_command(f"{mark}quit", typing.commands)}
    assert taken == set(COMMANDS[harness])


@pytest.mark.parametrize("harness", sorted(COMMANDS))
def test_what_is_a_command_of_a_console_is_said_with_its_source_and_its_version(harness: str) -> None:
    typing = REGISTRY.manifest(harness).modes["terminal"].terminal.typing
    assert typing is not None
    assert "; commands: " in typing.source
    assert typing.verified
