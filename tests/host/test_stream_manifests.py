"""Manifests of conversations in records of a harness's own: what is refused, and what a plan is made of."""

from __future__ import annotations

import asyncio
import re
import uuid
from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.errors import ManifestError
from inspan.model.plan import LaunchPlan, LaunchRequest
from inspan.model.posture import Posture
from inspan.plugin.manifest_file import load_manifest
from support.harness_folders import add_harness, add_program, manifest_text

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "manifest.md").read_text(encoding="utf-8")
(EXAMPLE,) = (
    one for one in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL) if "[modes.stream.stream]" in one
)
POSTURE = """
[[modes.stream.postures]]
approvals = "ask"
config_options = { careful = "yes" }

[modes.stream.capabilities.permission_answer]
support = "supported"
[modes.stream.capabilities.resume]
support = "supported"
"""


def written(root: Path, *changes: tuple[str, str], more: str = "") -> Path:
    text = EXAMPLE
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after, 1)
    return add_harness(root, "acme", manifest_text(more=text + POSTURE + more))


def test_the_example_is_right(tmp_path: Path) -> None:
    assert load_manifest(written(tmp_path)).modes["stream"].stream.prompt is not None


@pytest.mark.parametrize(
    ("change", "at"),
    [
        (("handshake = [", "# handshake = ["), "modes.stream.stream.handshake"),
        (
            ('{ id = "{id}", method = "hello",', '{ method = "hello",'),
            "modes.stream.stream.handshake[0].write",
        ),
        (('folder = "{workspace}"', 'folder = "{prompt}"'), "modes.stream.stream.fresh[0].write"),
        (('folder = "{workspace}"', 'folder = "{option}"'), "modes.stream.stream.fresh[0].write"),
        (
            ('match = { has = ["id"], lacks = ["method"] }, fails', "fails"),
            "modes.stream.stream.answers.match",
        ),
        ((', session = "result.session" }]\nresume', " }]\nresume"), "modes.stream.stream.fresh"),
        (('session = "{session}" }, session', "other = 1 }, session"), "modes.stream.stream.resume"),
        (('text = "{prompt}"', 'text = "hello"'), "modes.stream.stream.prompt.write"),
        (("prompt = {", "# prompt = {"), "modes.stream.stream.prompt"),
        (('needs = ["running"]', 'needs = ["walking"]'), "modes.stream.stream.cancel"),
        (('turn = "{kept.running}"', 'turn = "{kept.walking}"'), "modes.stream.stream.cancel"),
        (('match = { has = ["id", "method"] }\n', ""), "modes.stream.stream.requests.match"),
        (("unserved = {", "# unserved = {"), "modes.stream.stream.requests.unserved"),
        (('result = "{answer}"', 'result = "{answers}"'), "modes.stream.stream.requests.reply"),
        (
            ('choice = "{item}"', 'choice = "{element}"'),
            "modes.stream.stream.permissions[0].options[0].answer",
        ),
        (
            ('cancelled = { choice = "no" }', 'cancelled = "{answer}"'),
            "modes.stream.stream.permissions[0].cancelled",
        ),
        (('text = { path = "params.text" }\n', ""), "modes.stream.stream.records[1]"),
        (
            ('known = { "params.turn" = "turn" }         #', 'known = { "params.turn" = "other" } #'),
            "modes.stream.stream.records[0]",
        ),
        (("ends = {", "# ends = {"), "modes.stream.stream.records"),
        (('launch.args = ["serve"]', 'launch.args = ["{session}"]'), "modes.stream.launch.args[0]"),
        (('transport = "stream"', 'transport = "acp"'), "modes.stream.stream"),
    ],
)
def test_a_mode_that_is_wrong_in_one_way_is_refused_where_it_is_wrong(
    tmp_path: Path, change: tuple[str, str], at: str
) -> None:
    with pytest.raises(ManifestError) as caught:
        load_manifest(written(tmp_path, change))
    assert caught.value.detail["key_path"] == at


def test_a_mode_that_answers_permissions_says_how_they_are_asked_for(tmp_path: Path) -> None:
    start = EXAMPLE.index("[[modes.stream.stream.permissions]]")
    end = EXAMPLE.index("[[modes.stream.stream.records]]")
    with pytest.raises(ManifestError) as caught:
        load_manifest(written(tmp_path, (EXAMPLE[start:end], "")))
    assert caught.value.detail["key_path"] == "modes.stream.stream.permissions"


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError):
        load_manifest(written(tmp_path, ("accepts = true", "accept = true")))


def planned(tmp_path: Path, **changes: str) -> LaunchPlan:
    """The plan of a fresh launch of the harness below `tmp_path`."""
    add_program(tmp_path / "bin", "acme-agent", "")
    request = LaunchRequest(
        seat="one",
        harness="acme",
        mode="stream",
        attempt="fresh",
        workspace=str(tmp_path),
        posture=Posture(),
        model=changes.get("model"),
    )
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}

    async def plan() -> LaunchPlan:
        async with HarnessHost(tmp_path, environ=environ) as host:
            return await host.plan(request)

    return asyncio.run(plan())


@pytest.mark.requirement("H-A22")
def test_posture_and_model_are_options_that_a_call_may_name(tmp_path: Path) -> None:
    written(tmp_path / "harnesses", ('kind = "method" ', 'model_option = "m"\nkind = "method" '))
    plan = planned(tmp_path, model="small")
    assert (plan.transport, plan.arguments) == ("stream", ("serve",))
    assert plan.settings.config_options == {"careful": "yes", "m": "small"}
    assert plan.settings.stream.prompt is not None


def test_an_id_that_core_chooses_is_in_the_arguments_and_known_to_the_transport(tmp_path: Path) -> None:
    changes = (
        ('launch.args = ["serve"]', 'launch.args = ["--session={session}"]'),
        ('kind = "method" ', 'chooses_session = true\nkind = "method" '),
    )
    written(tmp_path / "harnesses", *changes)
    plan = planned(tmp_path)
    chosen = plan.settings.session_id
    assert chosen is not None
    assert str(uuid.UUID(chosen)) == chosen
    assert plan.arguments == (f"--session={chosen}",)
