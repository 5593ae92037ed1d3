"""A harness that reads no standard input gets its prompt as an argument, whatever is in it, in the same process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from inspan.model.headless import HeadlessSettings, LineRule
from inspan.model.manifest import (
    LaunchArguments,
    Maintainer,
    Manifest,
    ModeManifest,
    PostureRule,
    Program,
    SessionIdentity,
)
from inspan.model.plan import LaunchPlan, LaunchRequest
from inspan.model.posture import Approvals, Posture
from inspan.plugin.headless_checks import check_headless
from inspan.plugin.planning import build_plan
from inspan.plugin.programs import FoundProgram

TELLS = "import json, os, sys; json.dump([os.getpid(), sys.argv[1:], sys.stdin.read()], sys.stdout)"


def mode_of(headless: HeadlessSettings) -> ModeManifest:
    return ModeManifest(
        transport="headless",
        launch=LaunchArguments(args=("-c", TELLS, "two words")),
        postures=(PostureRule(approvals=Approvals.ASK, args=("--posture",)),),
        headless=headless,
    )


def plan_of(headless: HeadlessSettings, workspace: Path) -> LaunchPlan:
    manifest = Manifest(
        schema=1,
        id="made-up",
        name="Made Up",
        maintainer=Maintainer(name="tests"),
        program=Program(names=("python3",)),
        session=SessionIdentity(resume_type="made-up.session"),
        modes={"headless": mode_of(headless)},
        default_mode="headless",
    )
    request = LaunchRequest(
        seat="s",
        harness="made-up",
        mode="headless",
        attempt="fresh",
        workspace=str(workspace),
        posture=Posture(),
    )
    return build_plan(manifest, request, program=FoundProgram(path=sys.executable), present=set())


@pytest.mark.parametrize(
    "prompt",
    ["hello", "--help", "$(touch made) `touch made` \"'\\", "several\n\nlines", "ünïcode …", ""],
)
def test_a_prompt_is_one_argument_whatever_is_in_it(prompt: str, tmp_path: Path) -> None:
    plan = plan_of(HeadlessSettings(prompt="argument", prompt_option="--query=", output="text"), tmp_path)
    with subprocess.Popen(
        [plan.program, *plan.arguments], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        out, _ = process.communicate(prompt.encode())
    pid, argv, read = json.loads(out)
    assert pid == process.pid, "a stop and a proof of death are about this process"
    assert argv == ["two words", "--posture", f"--query={prompt}"]
    assert read == ""
    assert list(tmp_path.iterdir()) == []


def test_a_prompt_goes_to_standard_input_where_nothing_else_is_said(tmp_path: Path) -> None:
    plan = plan_of(HeadlessSettings(output="text"), tmp_path)
    assert (plan.program, plan.arguments[-1]) == (sys.executable, "--posture")


def test_an_option_without_an_argument_and_a_broken_pattern_are_faults() -> None:
    headless = HeadlessSettings(
        output="text", prompt_option="--query=", lines=(LineRule(pattern="(", means="noise"),)
    )
    faults = [one.key_path for one in check_headless(mode_of(headless), "m")]
    assert faults == ["m.headless.prompt_option", "m.headless.lines[0].pattern"]
