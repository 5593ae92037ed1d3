"""What manifests declare of a harness, and that it is data: launches, guidance, limits, postures, who keeps it."""

from __future__ import annotations

import asyncio
import types
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspan.host import HarnessHost
from inspan.model.errors import UsageError
from inspan.model.manifest import Manifest
from inspan.model.plan import LaunchRequest
from inspan.model.posture import Approvals, Posture, Sandbox
from inspan.model.session import Provenance, SessionReference
from inspan.plugin.planning import find_posture
from inspan.plugin.signals import read_limit_signals
from inspan.seats.caution import caution_of
from support.harness_folders import add_harness, add_program, manifest_text


def manifests(home: Path) -> dict[str, Manifest]:
    return {entry.id: entry.require() for entry in HarnessHost(home, environ={}).registry.list()}


@pytest.mark.requirement("H-A12")
def test_a_launch_is_command_arguments_and_a_model_flag(tmp_path: Path) -> None:
    manifest = manifests(tmp_path)["cursor"]
    program = add_program(tmp_path / "bin", manifest.program.names[0], "")
    rule = manifest.modes["terminal"].postures[0]
    posture = Posture(approvals=rule.approvals, sandbox=rule.sandbox)
    request = LaunchRequest(
        seat="worker",
        harness="cursor",
        mode="terminal",
        attempt="resume",
        workspace=str(tmp_path),
        posture=posture,
        reference=SessionReference(
            harness="cursor",
            resume_type=manifest.session.resume_type,
            id="chat-1",
            workspace=str(tmp_path),
            posture=posture,
            provenance=Provenance.REPORTED,
        ),
        model="m-1",
    )

    async def argv(asked: LaunchRequest) -> tuple[str, ...]:
        async with HarnessHost(
            tmp_path, environ={"PATH": str(program.parent), "HOME": str(tmp_path)}
        ) as host:
            plan = await host.plan(asked)
            return (plan.program, *plan.arguments)

    with_model = asyncio.run(argv(request))
    assert with_model[:5] == (str(program), "--resume", "chat-1", "--model", "m-1")
    without = asyncio.run(argv(msgspec.structs.replace(request, model=None)))
    assert without == (*with_model[:3], *with_model[5:])


@pytest.mark.requirement("H-A16", "H-I1")
def test_the_guidance_file_and_the_skills_folder_are_data(tmp_path: Path) -> None:
    more = (
        "[[resources]]\nkind = 'guidance'\ntarget = '{projectRoot}/AGENTS.md'\nmode = 'append-block'\n"
        "[[resources]]\nkind = 'skill'\ntarget = '{projectRoot}/.agents/skills/{id}'\nmode = 'directory'\n"
    )
    add_harness(tmp_path / "harnesses", "acme", manifest_text(more=more))
    known = manifests(tmp_path)
    assert [place.target for place in known["acme"].resources] == [
        "{projectRoot}/AGENTS.md",
        "{projectRoot}/.agents/skills/{id}",
    ]
    cursor = {place.kind.value: place.target for place in known["cursor"].resources}
    assert cursor["guidance"] == "{projectRoot}/AGENTS.md"


@pytest.mark.requirement("H-A39")
def test_each_mode_says_how_a_usage_limit_is_observed_or_that_it_is_not(tmp_path: Path) -> None:
    known = manifests(tmp_path)
    said = {
        (name, mode): read_limit_signals(manifest, one)
        for name, manifest in known.items()
        for mode, one in manifest.modes.items()
    }
    assert said["opencode", "acp"] == ("event",)
    assert said["claude-code", "terminal"] == ("hook", "screen")
    assert said["gemini", "terminal"] == ("screen",)
    assert () in said.values()
    add_harness(tmp_path / "harnesses", "acme", manifest_text())
    assert read_limit_signals(manifests(tmp_path)["acme"], manifests(tmp_path)["acme"].modes["acp"]) == ()


@pytest.mark.requirement("H-F1")
def test_three_approval_postures_are_all_that_any_harness_is_told(tmp_path: Path) -> None:
    assert set(Approvals) == {"ask", "edits", "bypass"}
    for manifest in manifests(tmp_path).values():
        for mode in manifest.modes.values():
            can = {(rule.approvals, rule.sandbox) for rule in mode.postures}
            assert can
            for approvals in Approvals:
                for sandbox in Sandbox:
                    posture = Posture(approvals=approvals, sandbox=sandbox)
                    if (approvals, sandbox) in can:
                        assert find_posture(mode, posture).approvals is approvals
                    else:
                        with pytest.raises(UsageError, match="cannot honour"):
                            find_posture(mode, posture)


@pytest.mark.requirement("H-A41")
def test_no_harness_is_told_the_seat_s_name_for_core_owns_it(tmp_path: Path) -> None:
    add_harness(tmp_path / "harnesses", "acme", manifest_text())
    add_program(tmp_path / "bin", "acme-agent", "")

    async def plan(seat: str) -> tuple[tuple[str, ...], dict[str, str]]:
        request = LaunchRequest(
            seat=seat,
            harness="acme",
            mode="acp",
            attempt="fresh",
            workspace=str(tmp_path),
            posture=Posture(),
        )
        async with HarnessHost(tmp_path, environ={"PATH": str(tmp_path / "bin")}) as host:
            made = await host.plan(request)
            return made.arguments, made.environment

    assert asyncio.run(plan("one")) == asyncio.run(plan("other"))
    placeholder = manifest_text(more='[modes.acp.resume]\nargs = ["--name", "{seat}"]\n')
    add_harness(tmp_path / "harnesses", "acme", placeholder)
    problem = HarnessHost(tmp_path, environ={}).view("acme").problem
    assert problem is not None
    assert "{seat}" in problem.message


def shapes_in(shape: Any) -> set[Any]:
    """Every type that a field's type is made of."""
    if typing.get_origin(shape) is typing.Annotated:
        return shapes_in(typing.get_args(shape)[0])
    if typing.get_origin(shape) is typing.Literal:
        return {type(one) for one in typing.get_args(shape)}
    inner = typing.get_args(shape)
    if inner:
        return {one for part in inner if part is not ... for one in shapes_in(part)}
    return {shape}


@pytest.mark.requirement("H-A42")
def test_a_manifest_is_plain_data_and_data_with_a_schema_and_its_one_name_of_code_is_the_way_out() -> None:
    plain = {str, int, float, bool, types.NoneType, Any}  # Any: a value of TOML, to compare with
    seen: set[type] = set()
    waiting: list[type] = [Manifest]
    while waiting:
        struct = waiting.pop()
        if struct in seen:
            continue
        seen.add(struct)
        assert issubclass(struct, msgspec.Struct)
        assert struct.__struct_config__.forbid_unknown_fields, struct
        for name, shape in typing.get_type_hints(struct, include_extras=True).items():
            if name.startswith("__"):
                continue
            for one in shapes_in(shape):
                if isinstance(one, type) and issubclass(one, msgspec.Struct):
                    waiting.append(one)
                else:
                    is_word = isinstance(one, type) and issubclass(one, str)
                    assert one in plain or is_word, (struct, name, one)
    assert len(seen) > 20
    code = [field.name for field in msgspec.structs.fields(Manifest) if field.name == "plugin"]
    assert code == ["plugin"]


@pytest.mark.requirement("H-A46")
def test_a_community_harness_says_who_keeps_it_that_it_is_untested_and_its_limits(tmp_path: Path) -> None:
    more = '[modes.acp.capabilities.resume]\nsupport = "unsupported"\n'
    add_harness(tmp_path / "harnesses", "acme", manifest_text(more=more))
    said = caution_of(manifests(tmp_path)["acme"], "acp")
    for words in ("community", "Somebody", "untested", "resume unsupported", "fork unknown"):
        assert words in said
    tried = manifest_text(more=more).replace(
        'names = ["acme-agent"]', 'names = ["acme-agent"]\ntested = ">=1, <2"'
    )
    add_harness(tmp_path / "harnesses", "acme", tried)
    assert "tried by them with >=1, <2" in caution_of(manifests(tmp_path)["acme"], "acp")


def test_a_built_in_harness_says_only_that_it_was_not_tried(tmp_path: Path) -> None:
    known = manifests(tmp_path)
    assert caution_of(known["opencode"], "acp") == ""
    assert caution_of(known["demo"], known["demo"].default_mode) == ""
    assert (
        caution_of(known["cursor"], "acp") == f"No version of {known['cursor'].name} was tried with Inspan."
    )
