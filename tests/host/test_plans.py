"""Launch plans: what is refused before anything starts, and what a plan holds."""

import asyncio
import os
import sys
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from inspan.host import HarnessHost
from inspan.host.plans import check_attempt, check_plan, check_reference, check_workspace, find_mode
from inspan.model.capability import Capabilities, Claim, Support
from inspan.model.errors import HarnessError, InspanError, PluginError, UsageError
from inspan.model.manifest import Manifest, ModeManifest
from inspan.model.plan import Attempt, LaunchPlan, LaunchRequest, PlanFile, TransportSettings
from inspan.model.posture import Approvals, Posture, PostureSource, Sandbox
from inspan.model.session import Provenance, SessionReference
from support.harness_folders import add_harness, add_program, manifest_text

SESSIONS = """
[modes.acp.resume]
args = ["acp", "--session", "{session}", "--cd", "{workspace}"]
model_args = ["--model", "{model}"]

[modes.acp.capabilities.resume]
support = "supported"

[modes.acp.environment]
set = { ACME_QUIET = "1" }
strip = ["ACME_PARENT", "CI_*"]

[[modes.acp.postures]]
approvals = "bypass"
args = ["--yes"]
environment = { ACME_MODE = "all" }
config_options = { effort = "low" }

[modes.acp.acp]
auth = [{ method = "key", when_env = "ACME_KEY" }, { method = "account", when_env = "ACME_ACCOUNT" }]
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    add_harness(tmp_path / "home" / "harnesses", "acme", manifest_text(more=SESSIONS))
    return tmp_path / "home"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return add_program(tmp_path / "bin", "acme-agent", "print('acme-agent 1.2.3')")


def host_of(home: Path, program: Path | None = None, **environ: str) -> HarnessHost:
    path = str(program.parent) if program else "/nonexistent"
    return HarnessHost(home, environ={"PATH": path, "HOME": str(home), **environ})


def request_of(workspace: Path, **changes: object) -> LaunchRequest:
    request = LaunchRequest(
        seat="one", harness="acme", mode="acp", attempt="fresh", workspace=str(workspace), posture=Posture()
    )
    return msgspec.structs.replace(request, **changes)


def reference_of(workspace: Path, **changes: object) -> SessionReference:
    reference = SessionReference(
        harness="acme",
        resume_type="acme.session.v1",
        id="s-1",
        workspace=str(workspace),
        posture=Posture(),
        provenance=Provenance.REPORTED,
    )
    return msgspec.structs.replace(reference, **changes)


def refusal(host: HarnessHost, request: LaunchRequest) -> InspanError:
    with pytest.raises(InspanError) as caught:
        asyncio.run(host.plan(request))
    return caught.value


@pytest.mark.parametrize("support", [Support.UNKNOWN, Support.UNSUPPORTED])
@pytest.mark.parametrize("attempt", ["fresh", "resume", "fork"])
def test_an_attempt_that_the_manifest_does_not_support_is_refused(attempt: Attempt, support: Support) -> None:
    claim = Claim(support=support, note="the harness keeps nothing")
    yes = Claim(support=Support.SUPPORTED)
    field = "launch" if attempt == "fresh" else attempt
    claims = Capabilities(**{**dict.fromkeys(("launch", "resume", "fork"), yes), field: claim})

    with pytest.raises(PluginError) as caught:
        check_attempt(ModeManifest(transport="acp", capabilities=claims), attempt)

    assert caught.value.code == "unsupported_capability"
    assert caught.value.detail == {
        "attempt": attempt,
        "support": support.value,
        "explanation": "the harness keeps nothing",
    }
    others: list[Attempt] = [other for other in get_args(Attempt) if other != attempt]
    assert len(others) == 2
    for other in others:
        check_attempt(ModeManifest(transport="acp", capabilities=claims), other)


@pytest.mark.requirement("H-B3", "H-B33")
def test_a_plan_says_how_the_harness_is_started(home: Path, program: Path, tmp_path: Path) -> None:
    plan = asyncio.run(host_of(home, program).plan(request_of(tmp_path, environment={"TZ": "UTC"})))

    assert plan == LaunchPlan(
        program=str(program),
        arguments=("acp",),
        cwd=str(tmp_path),
        environment={"ACME_QUIET": "1", "TZ": "UTC"},
        strip=("ACME_PARENT", "CI_*"),
        settings=TransportSettings(
            workspace=str(tmp_path),
            session_mode="careful",
            acp=plan.settings.acp,
            auth_method=None,
            answers_questions=True,
        ),
    )


def test_a_posture_becomes_arguments_environment_and_options(
    home: Path, program: Path, tmp_path: Path
) -> None:
    posture = Posture(approvals=Approvals.BYPASS, source=PostureSource.OPERATOR)

    plan = asyncio.run(host_of(home, program).plan(request_of(tmp_path, posture=posture)))

    assert plan.arguments == ("acp", "--yes")
    assert plan.environment["ACME_MODE"] == "all"
    assert plan.settings.config_options == {"effort": "low"}
    assert plan.settings.session_mode is None


@pytest.mark.parametrize(
    "posture",
    [Posture(approvals=Approvals.EDITS), Posture(approvals=Approvals.ASK, sandbox=Sandbox.READ_ONLY)],
)
def test_a_posture_that_cannot_be_honoured_is_refused_and_never_weakened(
    home: Path, program: Path, tmp_path: Path, posture: Posture
) -> None:
    error = refusal(host_of(home, program), request_of(tmp_path, posture=posture))

    assert error.code == "posture_unsupported"
    assert error.detail["supported"] == ["approvals=ask, sandbox=none", "approvals=bypass, sandbox=none"]
    assert "approvals=bypass, sandbox=none" in error.hint


@pytest.mark.requirement("H-F8")
def test_the_source_of_a_posture_changes_nothing_of_the_plan_and_stays_with_the_request(
    home: Path, program: Path, tmp_path: Path
) -> None:
    host = host_of(home, program)
    requests = [request_of(tmp_path, posture=Posture(source=source)) for source in PostureSource]

    plans = [asyncio.run(host.plan(request)) for request in requests]

    assert plans[0] == plans[1] == plans[2]
    assert {request.posture.source for request in requests} == set(PostureSource)


def test_a_resume_has_its_own_arguments_with_the_session_in_them(
    home: Path, program: Path, tmp_path: Path
) -> None:
    request = request_of(tmp_path, attempt="resume", reference=reference_of(tmp_path), model="big")

    plan = asyncio.run(host_of(home, program).plan(request))

    assert plan.arguments == ("acp", "--session", "s-1", "--cd", str(tmp_path), "--model", "big")
    assert (plan.settings.attempt, plan.settings.session_id) == ("resume", "s-1")


@pytest.mark.requirement("H-D1", "H-D8")
@pytest.mark.parametrize("session", ["AGENT_ID/CONVERSATION_ID", "{model}", "a b;c", "--help"])
def test_a_reference_is_opaque_and_reaches_the_harness_unchanged(
    home: Path, program: Path, tmp_path: Path, session: str
) -> None:
    request = request_of(tmp_path, attempt="resume", reference=reference_of(tmp_path, id=session))

    plan = asyncio.run(host_of(home, program).plan(request))

    assert plan.arguments[2] == session
    assert plan.settings.session_id == session


def test_a_resume_without_a_reference_is_refused(home: Path, program: Path, tmp_path: Path) -> None:
    assert refusal(host_of(home, program), request_of(tmp_path, attempt="resume")).code == "invalid_argument"


@pytest.mark.parametrize("change", [{"harness": "other"}, {"resume_type": "other.session.v1"}])
def test_a_reference_of_another_harness_or_type_is_refused(
    home: Path, program: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    request = request_of(tmp_path, attempt="resume", reference=reference_of(tmp_path, **change))

    error = refusal(host_of(home, program), request)

    assert error.code == "invalid_argument"
    assert "belongs to" in str(error)


def test_a_reference_of_another_form_is_refused_without_showing_it(home: Path, tmp_path: Path) -> None:
    manifest = HarnessHost(home, environ={}).registry.manifest("acme")
    session = msgspec.structs.replace(manifest.session, id_pattern="s-[0-9]+")
    strict = msgspec.structs.replace(manifest, session=session)

    check_reference(strict, reference_of(tmp_path))
    with pytest.raises(UsageError) as caught:
        check_reference(strict, reference_of(tmp_path, id="very-secret"))

    assert "very-secret" not in str(caught.value)


def test_a_model_that_cannot_be_chosen_is_refused(home: Path, program: Path, tmp_path: Path) -> None:
    error = refusal(host_of(home, program), request_of(tmp_path, model="big"))

    assert "cannot be told a model" in str(error)


def test_a_model_can_be_a_session_option(home: Path, program: Path, tmp_path: Path) -> None:
    add_harness(home / "harnesses", "acme", manifest_text(more='[modes.acp.acp]\nmodel_option = "model"'))

    plan = asyncio.run(host_of(home, program).plan(request_of(tmp_path, model="big")))

    assert plan.settings.config_options == {"model": "big"}


@pytest.mark.parametrize(
    ("daemon", "seat", "method"),
    [
        ({}, {}, None),
        ({"ACME_KEY": "x"}, {}, "key"),
        ({"ACME_KEY": ""}, {}, None),
        ({"ACME_ACCOUNT": "x"}, {}, "account"),
        ({"ACME_KEY": "x", "ACME_ACCOUNT": "x"}, {}, "key"),
        ({}, {"ACME_KEY": "x"}, "key"),
        ({"ACME_KEY": "x"}, {"ACME_KEY": ""}, None),
    ],
)
def test_the_first_sign_in_whose_variable_is_set_is_used(
    home: Path,
    program: Path,
    tmp_path: Path,
    daemon: dict[str, str],
    seat: dict[str, str],
    method: str | None,
) -> None:
    plan = asyncio.run(host_of(home, program, **daemon).plan(request_of(tmp_path, environment=seat)))

    assert plan.settings.auth_method == method


def test_a_seat_cannot_set_the_variable_that_carries_its_posture(
    home: Path, program: Path, tmp_path: Path
) -> None:
    posture = Posture(approvals=Approvals.BYPASS)
    host = host_of(home, program)

    error = refusal(host, request_of(tmp_path, posture=posture, environment={"ACME_MODE": "none"}))

    assert error.detail == {"variables": ["ACME_MODE"]}
    asyncio.run(host.plan(request_of(tmp_path, posture=posture, environment={"ACME_MODE": "all"})))


def test_an_unknown_mode_is_refused_with_those_that_there_are(
    home: Path, program: Path, tmp_path: Path
) -> None:
    error = refusal(host_of(home, program), request_of(tmp_path, mode="tui"))

    assert (error.code, error.detail) == ("unknown_mode", {"modes": ["acp"]})


def test_a_workspace_that_is_not_there_is_refused(home: Path, program: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    host = host_of(home, program)

    assert refusal(host, request_of(tmp_path / "none")).code == "workspace_missing"
    assert refusal(host, request_of(file)).code == "workspace_not_a_folder"
    with pytest.raises(UsageError, match="no absolute path"):
        check_workspace("here")


def test_a_program_that_is_not_there_is_refused_with_the_way_to_install_it(
    home: Path, tmp_path: Path
) -> None:
    error = refusal(host_of(home), request_of(tmp_path))

    assert isinstance(error, HarnessError)
    assert error.code == "not_installed"
    assert "INSPAN_PROGRAM_ACME" in error.hint


def test_an_operator_names_the_program_by_a_variable(home: Path, program: Path, tmp_path: Path) -> None:
    other = add_program(tmp_path / "other", "mine", "print('mine 9')")

    by_path = asyncio.run(host_of(home, program, INSPAN_PROGRAM_ACME=str(other)).plan(request_of(tmp_path)))
    error = refusal(host_of(home, program, INSPAN_PROGRAM_ACME="/no/such"), request_of(tmp_path))

    assert by_path.program == str(other)
    assert error.code == "not_installed"
    assert "INSPAN_PROGRAM_ACME" in error.message


def test_a_known_path_is_tried_after_path(home: Path, tmp_path: Path) -> None:
    text = manifest_text().replace(
        'names = ["acme-agent"]', 'names = ["acme-agent"]\npaths = ["~/in/acme-agent"]'
    )
    add_harness(home / "harnesses", "acme", text)
    program = add_program(home / "in", "acme-agent", "")

    plan = asyncio.run(host_of(home).plan(request_of(tmp_path)))

    assert plan.program == str(program)


def test_a_module_runs_with_our_own_interpreter_and_never_from_the_workspace(
    home: Path, tmp_path: Path
) -> None:
    text = manifest_text().replace('names = ["acme-agent"]', 'module = "acme.agent"')
    add_harness(home / "harnesses", "acme", text)

    plan = asyncio.run(host_of(home).plan(request_of(tmp_path)))

    assert plan.program == sys.executable
    assert plan.arguments[:3] == ("-P", "-m", "acme.agent")


@pytest.mark.requirement("H-B10")
def test_preflight_finds_what_would_keep_a_launch_from_working(
    home: Path, program: Path, tmp_path: Path
) -> None:
    fine = asyncio.run(host_of(home, program).preflight(request_of(tmp_path)))
    missing = asyncio.run(host_of(home).preflight(request_of(tmp_path)))
    no_folder = asyncio.run(host_of(home, program).preflight(request_of(tmp_path / "none")))

    assert fine == ()
    assert [problem.code for problem in missing] == ["not_installed"]
    assert [problem.code for problem in no_folder] == ["workspace_missing"]


def a_plan(manifest: Manifest, workspace: Path, **changes: object) -> LaunchPlan:
    del manifest
    plan = LaunchPlan(
        program=sys.executable,
        arguments=(),
        cwd=str(workspace),
        settings=TransportSettings(workspace=str(workspace)),
    )
    return msgspec.structs.replace(plan, **changes)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"program": "python"}, "cannot be run"),
        ({"program": os.devnull}, "cannot be run"),
        ({"transport": "smoke"}, "transport"),
        ({"settings": TransportSettings(workspace="/", attempt="resume")}, "plan to resume"),
        ({"files": (PlanFile(path="../x", text=""),)}, "outside"),
        ({"files": (PlanFile(path="/x", text=""),)}, "outside"),
    ],
)
def test_a_plan_that_core_cannot_carry_out_is_the_plugins_fault(
    home: Path, tmp_path: Path, changes: dict[str, object], part: str
) -> None:
    manifest = HarnessHost(home, environ={}).registry.manifest("acme")
    mode = find_mode(manifest, "acp")
    request = request_of(tmp_path)

    good = a_plan(manifest, tmp_path)
    assert check_plan(manifest, mode, request, good) is good
    with pytest.raises(PluginError, match=part):
        check_plan(manifest, mode, request, a_plan(manifest, tmp_path, **changes))
