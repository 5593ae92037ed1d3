"""Launch axes: what a launch is told beside model, effort and posture, as data of the manifest."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.errors import ManifestError, UsageError
from inspan.model.plan import LaunchPlan, LaunchRequest
from inspan.model.posture import Approvals, Posture, Sandbox
from support.harness_folders import add_harness, add_program, manifest_text

AXES = """
[modes.acp.axes.folder]
args = ["--add-dir={value}"]
kind = "folder"
repeatable = true
[modes.acp.axes.mode]
args = ["--mode", "{value}"]
values = ["accept-edits", "plan"]
[modes.acp.axes.project]
environment = { ACME_PROJECT = "{value}" }
[modes.acp.axes.agent]
args = ["--agent", "{value}"]
[[modes.acp.postures]]
approvals = "bypass"
sandbox = "workspace"
args = ["--skip-permissions", "--sandbox"]
"""
CHOICES = """
model_args = ["--model", "{model}"]
effort_args = ["--effort", "{effort}"]
"""


def plan_of(home: Path, axes: dict[str, tuple[str, ...]]) -> LaunchPlan:
    text = manifest_text(more=AXES).replace('args = ["acp"]', f'args = ["acp"]{CHOICES}')
    add_harness(home / "harnesses", "acme", text)
    add_program(home / "bin", "acme-agent", "")
    request = LaunchRequest(
        seat="worker",
        harness="acme",
        mode="acp",
        attempt="fresh",
        workspace=str(home),
        posture=Posture(approvals=Approvals.BYPASS, sandbox=Sandbox.WORKSPACE),
        model="m-1",
        effort="max",
        axes=axes,
    )

    async def plan() -> LaunchPlan:
        async with HarnessHost(home, environ={"PATH": str(home / "bin"), "HOME": str(home)}) as host:
            return await host.plan(request)

    return asyncio.run(plan())


@pytest.mark.requirement("H-A23")
def test_every_axis_of_a_launch_goes_where_the_manifest_says(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        {"folder": ("lib", "/srv/other"), "mode": ("plan",), "project": ("p-1",), "agent": ("reviewer",)},
    )
    assert plan.arguments == (
        *("acp", "--model", "m-1", "--effort", "max", "--skip-permissions", "--sandbox"),
        *(f"--add-dir={tmp_path}/lib", "--add-dir=/srv/other", "--mode", "plan", "--agent", "reviewer"),
    )
    assert plan.environment["ACME_PROJECT"] == "p-1"


@pytest.mark.requirement("H-A23")
@pytest.mark.parametrize(
    ("axes", "code"),
    [
        ({"colour": ("red",)}, "option_unknown"),
        ({"mode": ("yolo",)}, "option_unknown"),
        ({"agent": ("a", "b")}, "invalid_argument"),
        ({"agent": ("--dangerous",)}, "invalid_argument"),
        ({"agent": ("",)}, "invalid_argument"),
    ],
)
def test_what_an_axis_cannot_be_is_refused_before_anything_starts(
    tmp_path: Path, axes: dict[str, tuple[str, ...]], code: str
) -> None:
    with pytest.raises(UsageError) as refused:
        plan_of(tmp_path, axes)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("axis", "key"),
    [
        ("repeatable = true", "modes.acp.axes.x"),
        ('args = ["--x"]', "modes.acp.axes.x"),
        ('environment = { X = "{value}" }\nrepeatable = true', "modes.acp.axes.x.repeatable"),
    ],
)
def test_an_axis_that_tells_nothing_is_refused_with_its_key(tmp_path: Path, axis: str, key: str) -> None:
    add_harness(tmp_path / "harnesses", "acme", manifest_text(more=f"[modes.acp.axes.x]\n{axis}\n"))
    with pytest.raises(ManifestError) as refused:
        HarnessHost(tmp_path, environ={}).registry.manifest("acme")
    assert refused.value.detail["key_path"] == key
