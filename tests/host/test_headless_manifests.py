"""Manifests of one-shot modes: what is refused, and what a plan is made of."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.errors import ManifestError
from inspan.model.plan import LaunchPlan, LaunchRequest
from inspan.model.posture import Posture
from inspan.model.session import Provenance, SessionReference
from inspan.plugin.manifest_file import load_manifest
from support.harness_folders import add_harness, add_program, manifest_text

RECORDS = 'records = [{ when = { type = "end" }, ends = {} }]'
HEADLESS = """
[modes.once]
transport = "headless"
launch.args = ["-p", {launch}]
resume.args = ["-p", "--resume", "{{session}}"]
capabilities.resume = {{ support = "supported", source = "a run" }}

[[modes.once.postures]]
approvals = "ask"
args = ["--careful"]

[modes.once.headless]
{settings}
"""


def written(root: Path, settings: str = RECORDS, launch: str = '"--json"', more: str = "") -> Path:
    text = HEADLESS.format(settings=settings, launch=launch) + more
    return add_harness(root, "acme", manifest_text(more=text))


def test_a_mode_of_one_shot_runs_is_read(tmp_path: Path) -> None:
    mode = load_manifest(written(tmp_path)).modes["once"]
    assert mode.headless.records[0].ends is not None


@pytest.mark.parametrize(
    ("settings", "at"),
    [
        ("", "modes.once.headless.records"),
        (f'output = "text"\n{RECORDS}', "modes.once.headless.records"),
        ("records = [{ when = { type = 'x' } }]", "modes.once.headless.records[0]"),
        ("chooses_session = true\n" + RECORDS, "modes.once.headless.chooses_session"),
        ("stderr_session = 'id: .*'\n" + RECORDS, "modes.once.headless.stderr_session"),
        ("stderr_session = '('\n" + RECORDS, "modes.once.headless.stderr_session"),
        (
            RECORDS
            + "\nexit_codes = [{ status = 3, code = 'limited', title = 'x', remedy = 'y' },"
            + " { status = 3, code = 'limited', title = 'x', remedy = 'y' }]",
            "modes.once.headless.exit_codes[1].status",
        ),
    ],
)
def test_a_mode_that_is_wrong_in_one_way_is_refused_where_it_is_wrong(
    tmp_path: Path, settings: str, at: str
) -> None:
    with pytest.raises(ManifestError) as caught:
        load_manifest(written(tmp_path, settings))
    assert caught.value.detail["key_path"] == at


def test_a_session_that_nobody_chooses_cannot_be_named_at_a_fresh_launch(tmp_path: Path) -> None:
    with pytest.raises(ManifestError):
        load_manifest(written(tmp_path, launch='"{session}"'))


def test_a_resume_that_does_not_name_its_session_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path)
    file = folder / "manifest.toml"
    file.write_text(file.read_text().replace('"--resume", "{session}"', '"--continue"'))
    with pytest.raises(ManifestError) as caught:
        load_manifest(folder)
    assert caught.value.detail["key_path"] == "modes.once.resume.args"


def planned(tmp_path: Path, **changes: object) -> LaunchPlan:
    """The plan of a launch of the harness below `tmp_path`."""
    add_program(tmp_path / "bin", "acme-agent", "")
    request = LaunchRequest(
        seat="one",
        harness="acme",
        mode="once",
        attempt=changes.get("attempt", "fresh"),  # pyright: ignore[reportArgumentType]
        workspace=str(tmp_path),
        posture=Posture(),
        reference=changes.get("reference"),  # pyright: ignore[reportArgumentType]
    )
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}

    async def plan() -> LaunchPlan:
        async with HarnessHost(tmp_path, environ=environ) as host:
            return await host.plan(request)

    return asyncio.run(plan())


@pytest.mark.requirement("H-A26")
def test_an_id_that_core_chooses_is_in_the_arguments_and_known_to_the_transport(tmp_path: Path) -> None:
    written(tmp_path / "harnesses", "chooses_session = true\n" + RECORDS, launch='"--session={session}"')
    first, second = planned(tmp_path), planned(tmp_path)
    chosen = first.settings.session_id
    assert chosen is not None
    assert str(uuid.UUID(chosen)) == chosen
    assert first.arguments == ("-p", f"--session={chosen}", "--careful")
    assert second.settings.session_id != chosen


def test_a_resume_names_the_session_by_its_arguments(tmp_path: Path) -> None:
    written(tmp_path / "harnesses")
    reference = SessionReference(
        harness="acme",
        resume_type="acme.session.v1",
        id="s-1",
        workspace=str(tmp_path),
        posture=Posture(),
        provenance=Provenance.REPORTED,
    )
    plan = planned(tmp_path, attempt="resume", reference=reference)
    assert plan.arguments == ("-p", "--resume", "s-1", "--careful")
    assert (plan.transport, plan.settings.session_id) == ("headless", "s-1")
    assert planned(tmp_path).settings.session_id is None
