"""Real harnesses with a configuration folder of a seat's own: it works there, resumes there, and the operator's stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from support.live import codex, gemini, pi, qwen
from support.live.inspan_cli import InspanCli
from support.live.netns import Namespace
from support.live.one_shot import SEAT, until_over
from support.live.target import ReadyTarget, Target, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

TARGETS: dict[str, tuple[Target, str, str]] = {
    "codex": (codex.TARGET, ".codex", "ask"),
    "gemini": (gemini.TARGET, ".gemini", "ask"),
    "pi": (pi.TARGET, ".pi/agent", "bypass"),
    "qwen": (qwen.TARGET, ".qwen", "ask"),
}
"""The target, its operator's configuration folder in the home, and the approvals of its seat."""


@pytest.fixture(params=sorted(TARGETS))
def ready(request: pytest.FixtureRequest, namespace: Namespace) -> Iterator[ReadyTarget]:
    """A harness in an arena of its own."""
    with open_target(TARGETS[request.param][0], namespace) as made:
        yield made


def contents(folder: Path) -> dict[str, str]:
    """Every file of a folder with a hash of what it holds."""
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.requirement("H-A13", "H-A14")
def test_an_isolated_seat_works_and_resumes_in_its_own_folder_and_leaves_the_operator_s_as_it_was(
    ready: ReadyTarget,
) -> None:
    arena, pin = ready.arena, ready.target.pin
    _, folder, approvals = TARGETS[pin]
    own = arena.home / folder
    before = contents(own)
    inspan = InspanCli(arena)
    inspan.call(
        *("seat", "add", SEAT, "--harness", pin, "--mode", "headless", "--approvals", approvals),
        *("--workspace", str(arena.workspace), "--share", "settings", "--share", "sign_in"),
    )
    config = inspan.seat(SEAT)["config"]
    assert config["isolated"]

    first = inspan.send_and_wait(SEAT, "the word is heron")
    assert first["turn_outcome"] == "completed", first
    session = until_over(inspan)["session"]["id"]
    assert inspan.send_and_wait(SEAT, "RECALL please")["turn_outcome"] == "completed"
    after = until_over(inspan)["session"]
    assert (after["id"], after["resume_outcome"]) == (session, "resumed")

    assert contents(own) == before
    assert len(contents(Path(config["folder"]))) > len(before)
    inspan.call("seat", "remove", SEAT, "--delete-config")
    assert not Path(config["folder"]).exists()
    assert contents(own) == before
