"""Where a harness might begin by approving everything, its mode is set before any prompt can go out.

Its own answer to `session/new` is played to our client, as recorded, but for the mode that it begins in.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import inspan.harnesses
from inspan.conformance.recording import read_recording
from inspan.host import HarnessHost
from inspan.model.content import ModeUpdated
from inspan.model.errors import UsageError
from inspan.model.manifest import PostureRule
from inspan.model.plan import LaunchRequest
from inspan.model.posture import Posture
from inspan.model.reports import SessionFailed, SessionReady
from inspan.plugin.manifest_file import load_manifest
from inspan.transports.acp.loose import dicts_in, mapping, mapping_in, text_in
from support.acp_peer import AcpPeer
from support.harness_folders import add_program

ROOT = Path(inspan.harnesses.__file__).parent
MODES_OF_THEIR_OWN = ["claude-code", "copilot", "gemini", "qwen", "vibe"]
OPTIONS = {"session/set_mode": "modeId", "session/set_config_option": "value"}


def rule_of(harness: str) -> PostureRule:
    """How the default posture is expressed."""
    postures = load_manifest(ROOT / harness).modes["acp"].postures
    return next(rule for rule in postures if rule.approvals is Posture().approvals)


def opened(harness: str) -> dict[str, Any]:
    """What the harness answered to its first `session/new`."""
    for line in read_recording(ROOT / harness / "recordings/acp.jsonl"):
        result = mapping_in(mapping(line.message) or {}, "result")
        if line.direction == "<" and text_in(result, "sessionId"):
            return result
    raise LookupError(harness)


def begin(harness: str, current: str, tmp_path: Path) -> AcpPeer:
    """Our client, launched as the manifest says, with a harness that begins in the mode `current`."""
    manifest = load_manifest(ROOT / harness)
    program = manifest.modes["acp"].program or manifest.program
    add_program(tmp_path / "bin", program.names[0], "")
    host = HarnessHost(tmp_path, environ={"PATH": str(tmp_path / "bin")})
    request = LaunchRequest(
        seat="one", harness=harness, mode="acp", attempt="fresh", workspace=str(tmp_path), posture=Posture()
    )
    settings = asyncio.run(host.plan(request)).settings
    peer = AcpPeer(**{name: getattr(settings, name) for name in settings.__struct_fields__})
    peer.connect()
    result = opened(harness)
    if modes := mapping_in(result, "modes"):
        modes["currentModeId"] = current
    for option in dicts_in(result, "configOptions"):
        if option.get("category") == "mode":
            option["currentValue"] = current
    peer.result(result)
    return peer


def rule_steps(harness: str) -> list[str]:
    """The calls that the default posture needs where the harness begins in another mode."""
    current = {
        text_in(one, "id"): one.get("currentValue") for one in dicts_in(opened(harness), "configOptions")
    }
    options = rule_of(harness).config_options
    return ["mode", *(name for name, value in options.items() if current.get(name) != value)]


def others(harness: str) -> list[str]:
    """The modes that the harness offers besides the one of the default posture."""
    offered = [text_in(one, "id") for one in dicts_in(mapping_in(opened(harness), "modes"), "availableModes")]
    return [one for one in offered if one and one != rule_of(harness).session_mode]


CASES = [(harness, mode) for harness in MODES_OF_THEIR_OWN for mode in others(harness)]


@pytest.mark.parametrize("harness", MODES_OF_THEIR_OWN)
def test_the_mode_of_the_default_posture_is_one_that_the_harness_offers(harness: str) -> None:
    assert rule_of(harness).session_mode
    assert len(others(harness)) >= 2


@pytest.mark.requirement("H-B21", "H-N56")
@pytest.mark.parametrize(("harness", "mode"), CASES)
def test_no_prompt_goes_out_before_the_mode_is_set(harness: str, mode: str, tmp_path: Path) -> None:
    peer = begin(harness, mode, tmp_path)

    call = peer.call()
    assert call["method"] in OPTIONS
    assert call["params"][OPTIONS[call["method"]]] == rule_of(harness).session_mode
    assert not [one for one in peer.reports if isinstance(one.body, SessionReady)]
    with pytest.raises(UsageError):
        peer.prompt()


@pytest.mark.requirement("H-F11")
@pytest.mark.parametrize(("harness", "mode"), CASES)
def test_the_mode_that_was_set_is_recorded_before_the_session_counts_as_ready(
    harness: str, mode: str, tmp_path: Path
) -> None:
    peer = begin(harness, mode, tmp_path)
    for _ in rule_steps(harness):
        peer.result({})

    bodies = [one.body for one in peer.reports]
    [ready] = [index for index, body in enumerate(bodies) if isinstance(body, SessionReady)]
    begun = next(body.current for body in bodies if isinstance(body, ModeUpdated))
    wanted = rule_of(harness).session_mode
    assert begun == mode
    # Told as the mode in force, or as the answer to our own call.
    assert any(
        wanted in (getattr(body, "current", None), getattr(body, "value", None)) for body in bodies[:ready]
    )


@pytest.mark.requirement("H-N56")
@pytest.mark.parametrize(("harness", "mode"), CASES)
def test_a_session_that_does_not_take_its_mode_is_of_no_use(harness: str, mode: str, tmp_path: Path) -> None:
    peer = begin(harness, mode, tmp_path)

    bodies = peer.error(-32603)

    assert any(isinstance(body, SessionFailed) for body in bodies)
    with pytest.raises(UsageError):
        peer.prompt()
