"""Every built-in harness: data that holds, the same answers in both placements, and claims that have their sources."""

import ast
import asyncio
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

import inspan.harnesses
from inspan.host import HarnessHost, HarnessRegistry, Placement
from inspan.model.capability import Claim, EvidenceLevel
from inspan.model.errors import InspanError, PluginError
from inspan.model.manifest import Manifest
from inspan.model.plan import LaunchPlan, LaunchRequest
from inspan.model.posture import Posture
from inspan.model.session import Provenance, SessionReference
from inspan.model.turn import CallError
from inspan.plugin import Nothing
from support.agent_pipes import open_agent
from support.harness_folders import add_harness, add_program

ROOT = Path(inspan.harnesses.__file__).parent
IDS = sorted(folder.name for folder in ROOT.iterdir() if (folder / "manifest.toml").is_file())
MODES = [
    (harness, mode) for harness in IDS for mode in HarnessRegistry(Path("/nowhere")).manifest(harness).modes
]
SESSION_IDS = {
    "demo": "demo-" + "0" * 32,
    "gemini": "159c09bc-9786-4bf0-8f5d-f79cf101523f",
    "opencode": "ses_dd281d5b1ffeGei4FH3dQ7eK0j",
}
"""A session id as each harness gave one, for those whose recordings hold one."""


def host_of(tmp_path: Path, placement: Placement = "by_origin") -> HarnessHost:
    """A host that finds a program for every harness, whether it is installed or not."""
    programs = tmp_path / "bin"
    registry = HarnessRegistry(tmp_path / "home")
    for harness in IDS:
        manifest = registry.manifest(harness)
        for program in (manifest.program, *(mode.program for mode in manifest.modes.values())):
            for name in program.names if program else ():
                add_program(programs, name, "")
    environ = {"PATH": str(programs), "HOME": str(tmp_path), "GEMINI_API_KEY": "x"}
    return HarnessHost(tmp_path / "home", environ=environ, placement=placement)


def request_of(harness: str, mode: str, workspace: Path, **changes: Any) -> LaunchRequest:
    request = LaunchRequest(
        seat="one", harness=harness, mode=mode, attempt="fresh", workspace=str(workspace), posture=Posture()
    )
    return msgspec.structs.replace(request, **changes)


def claims_of(manifest: Manifest) -> Iterator[tuple[str, Any]]:
    """Every part of a manifest that says where it comes from."""

    def walk(value: Any, at: str) -> Iterator[tuple[str, Any]]:
        if isinstance(value, msgspec.Struct):
            if "verified" in value.__struct_fields__:
                yield at, value
            for name in value.__struct_fields__:
                yield from walk(getattr(value, name), f"{at}.{name}")
        elif isinstance(value, dict):
            for key, one in cast("dict[str, Any]", value).items():
                yield from walk(one, f"{at}.{key}")
        elif isinstance(value, tuple):
            for index, one in enumerate(cast("tuple[Any, ...]", value)):
                yield from walk(one, f"{at}[{index}]")

    yield from walk(manifest, manifest.id)


def test_there_are_harnesses_to_look_at() -> None:
    assert {"demo", "gemini", "opencode"} <= set(IDS)


@pytest.mark.requirement("H-B8")
@pytest.mark.parametrize("harness", IDS)
def test_a_built_in_harness_is_a_whole_folder_without_a_problem(tmp_path: Path, harness: str) -> None:
    view = host_of(tmp_path).view(harness)

    assert view.problem is None
    assert (view.origin, view.folder, view.tier) == ("built-in", str(ROOT / harness), "built-in")
    assert (ROOT / harness / "README.md").is_file()
    assert len((ROOT / harness / "README.md").read_text(encoding="utf-8").splitlines()) < 80


@pytest.mark.requirement("H-B8", "H-B9")
@pytest.mark.parametrize(("harness", "mode"), MODES)
def test_both_placements_give_the_same_manifest_plans_and_diagnoses(
    tmp_path: Path, harness: str, mode: str
) -> None:
    async def answers(placement: Placement) -> list[object]:
        async with host_of(tmp_path, placement) as host:
            manifest = host.registry.manifest(harness)
            request = request_of(harness, mode, tmp_path)
            reference = SessionReference(
                harness=harness,
                resume_type=manifest.session.resume_type,
                id=SESSION_IDS.get(harness, "s-1"),
                workspace=str(tmp_path),
                posture=Posture(),
                provenance=Provenance.REPORTED,
            )
            found: list[object] = [
                await host.ask(harness, "get_manifest", Nothing()),
                await attempt(host, request),
                await attempt(host, msgspec.structs.replace(request, model="m")),
                await attempt(host, msgspec.structs.replace(request, attempt="resume", reference=reference)),
            ]
            for error in (
                *errors_of(manifest, mode),
                CallError(code="call_failed", message="?", raw_code=12345),
            ):
                found.append(await host.classify_error(harness, mode, error))
            assert (host.plugin_pid(harness) is not None) is (placement == "own_process")
            return found

    assert asyncio.run(answers("in_process")) == asyncio.run(answers("own_process"))


async def attempt(host: HarnessHost, request: LaunchRequest) -> object:
    try:
        return without_chosen_session(await host.plan(request), request)
    except InspanError as error:
        return error.code, error.message, error.hint


def without_chosen_session(plan: LaunchPlan, request: LaunchRequest) -> LaunchPlan:
    """The plan without the id that core chose at random."""
    chosen = plan.settings.session_id
    if request.reference is not None or not chosen:
        return plan
    return msgspec.structs.replace(
        plan,
        arguments=tuple(one.replace(chosen, "CHOSEN") for one in plan.arguments),
        settings=msgspec.structs.replace(plan.settings, session_id="CHOSEN"),
    )


def errors_of(manifest: Manifest, mode: str) -> list[CallError]:
    return [
        CallError(code="call_failed", message=one.title, raw_code=one.raw_code)
        for one in manifest.modes[mode].diagnoses
    ]


@pytest.mark.parametrize(("harness", "mode"), MODES)
def test_every_mode_declares_postures_and_each_of_them_can_be_planned(
    tmp_path: Path, harness: str, mode: str
) -> None:
    host = host_of(tmp_path)
    rules = host.registry.manifest(harness).modes[mode].postures
    assert rules

    for rule in rules:
        posture = Posture(approvals=rule.approvals, sandbox=rule.sandbox)
        plan = asyncio.run(host.plan(request_of(harness, mode, tmp_path, posture=posture)))
        assert isinstance(plan, LaunchPlan)
        assert plan.cwd == str(tmp_path)


@pytest.mark.parametrize("harness", ["demo", "gemini", "opencode"])
def test_a_seat_that_says_nothing_of_its_posture_can_be_launched(tmp_path: Path, harness: str) -> None:
    assert asyncio.run(host_of(tmp_path).plan(request_of(harness, "acp", tmp_path)))


@pytest.mark.parametrize("harness", IDS)
def test_every_fact_says_where_it_comes_from_and_when_it_was_checked(harness: str) -> None:
    manifest = HarnessRegistry(Path("/nowhere")).manifest(harness)

    claims = list(claims_of(manifest))

    assert len(claims) > 5
    for at, claim in claims:
        if needs_source(claim):
            assert claim.source, at
            assert claim.verified, at


def needs_source(claim: msgspec.Struct) -> bool:
    """Whether somebody looked: a capability that was more than declared, and anything else that says something."""
    if isinstance(claim, Claim):
        return claim.evidence is not EvidenceLevel.DECLARED
    is_stated = any(field.required for field in msgspec.structs.fields(claim))
    return is_stated or claim != type(claim)()


@pytest.mark.parametrize("harness", IDS)
def test_recordings_of_a_harness_are_whole(harness: str) -> None:
    files = list((ROOT / harness).glob("recordings/**/*.jsonl"))

    assert files or harness not in SESSION_IDS or harness == "demo"
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            json.loads(line)


RECORDED_ERRORS = [
    ("gemini", "quota", "limited"),
    ("gemini", "authfail", "auth_required"),
    ("gemini", "badsession", "session_missing"),
    ("gemini", "load-missing", "session_missing"),
    ("opencode", "quota", "limited"),
    ("opencode", "authfail", "auth_required"),
    ("opencode", "badsession", "session_missing"),
    ("opencode", "load-missing", "session_missing"),
]


@pytest.mark.parametrize(("harness", "phase", "code"), RECORDED_ERRORS)
def test_a_recorded_error_is_understood_and_keeps_its_own_words(
    tmp_path: Path, harness: str, phase: str, code: str
) -> None:
    lines = (ROOT / harness / "recordings" / "acp.jsonl").read_text(encoding="utf-8").splitlines()
    messages = [
        line["msg"] for line in map(json.loads, lines) if line["phase"] == phase and line["dir"] == "<"
    ]
    [error] = [message["error"] for message in messages if "error" in message]
    raised = CallError(
        code="call_failed", message=error["message"], raw_code=error["code"], raw=error.get("data")
    )

    classified = asyncio.run(host_of(tmp_path).classify_error(harness, "acp", raised))

    assert classified.code == code
    assert classified.message == error["message"]
    assert classified.hint


def test_a_harness_that_cannot_resume_refuses_with_its_reason(tmp_path: Path) -> None:
    reference = SessionReference(
        harness="gemini",
        resume_type="gemini.session.v1",
        id=SESSION_IDS["gemini"],
        workspace=str(tmp_path),
        posture=Posture(),
        provenance=Provenance.REPORTED,
    )
    request = request_of("gemini", "acp", tmp_path, attempt="resume", reference=reference)

    with pytest.raises(PluginError) as caught:
        asyncio.run(host_of(tmp_path).plan(request))

    assert caught.value.code == "unsupported_capability"
    assert "session/load" in caught.value.hint


def test_the_postures_of_opencode_put_their_rule_before_those_of_the_operator(tmp_path: Path) -> None:
    plan = asyncio.run(host_of(tmp_path).plan(request_of("opencode", "acp", tmp_path)))

    assert json.loads(plan.environment["OPENCODE_PERMISSION"]) == {"*": "ask"}
    places = json.loads(plan.environment["OPENCODE_CONFIG_CONTENT"])
    assert list(places) == ["tools"]
    assert next(iter(places["tools"])) == "*"


@pytest.mark.requirement("DEC1")
@pytest.mark.parametrize("harness", IDS)
def test_a_manifest_says_who_makes_the_session_id(harness: str) -> None:
    session = HarnessRegistry(Path("/nowhere")).manifest(harness).session

    assert session.id_source in (Provenance.REPORTED, Provenance.CHOSEN)
    assert re.search(r"^[a-z-]+\.[a-z]+\.v\d+$", session.resume_type)


def test_built_in_harnesses_import_nothing_of_core_but_plugin_and_model() -> None:
    allowed = ("inspan.plugin", "inspan.model", "inspan.harnesses")
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert not name.startswith("inspan") or name.startswith(allowed), f"{file}: {name}"


@pytest.mark.requirement("DEC4", "H-A9", "H-A54")
def test_a_synthetic_harness_added_as_data_is_found_shown_planned_and_started(tmp_path: Path) -> None:
    user = tmp_path / "home" / "harnesses"
    add_harness(
        user,
        "newcomer",
        'id = "newcomer"\nextends = "demo"\nname = "Newcomer"\nsummary = "From data alone"\n'
        '[maintainer]\nname = "Somebody"\ntier = "community"\n'
        '[session]\nresume_type = "newcomer.session.v1"\n'
        "[modes.acp.environment.set]\n"
        f"INSPAN_DEMO_STATE = {json.dumps(str(tmp_path / 'state'))}\n",
    )
    host = host_of(tmp_path)

    view = host.view("newcomer")
    plan = asyncio.run(host.plan(request_of("newcomer", "acp", tmp_path)))
    with open_agent([plan.program, *plan.arguments], cwd=Path(plan.cwd), environ=plan.environment) as agent:
        agent.call("initialize", protocolVersion=1)
        session = agent.call("session/new", cwd=plan.cwd, mcpServers=[])["result"]["sessionId"]
        ended = agent.answer_to(agent.prompt(session, "hello"))

    assert (view.name, view.summary, view.maintainer, view.tier) == (
        "Newcomer",
        "From data alone",
        "Somebody",
        "community",
    )
    assert (view.origin, view.folder) == ("user", str(user / "newcomer"))
    assert view.layers == (str(ROOT / "demo"), str(user / "newcomer"))
    assert view.scripted
    assert ended["result"]["stopReason"] == "end_turn"
    assert (tmp_path / "state" / "prompts.jsonl").is_file()
    assert os.path.isabs(plan.program)
