"""What a seat chooses becomes arguments, variables or protocol calls, as its harness takes them; what it cannot take is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspan.host import HarnessHost
from inspan.model.errors import UsageError
from inspan.model.plan import Attempt, LaunchPlan, LaunchRequest, TransportSettings
from inspan.model.posture import Approvals, Posture, Sandbox
from inspan.model.session import Provenance, SessionReference
from inspan.seats.launch_folder import harness_environment
from support.harness_folders import add_harness, add_program, manifest_text


def plan(
    tmp_path: Path,
    harness: str = "acme",
    *,
    more: str = "",
    attempt: Attempt = "fresh",
    approvals: Approvals = Approvals.ASK,
    sandbox: Sandbox = Sandbox.NONE,
    environ: dict[str, str] | None = None,
    **choices: Any,
) -> LaunchPlan:
    """The plan of a launch, of a harness of the test's own or of a built-in one."""
    if harness == "acme":
        add_harness(tmp_path / "home" / "harnesses", "acme", manifest_text(more=more))
    host = HarnessHost(
        tmp_path / "home", environ={"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), **(environ or {})}
    )
    manifest = host.registry.manifest(harness)
    for program in (manifest.program, manifest.modes["acp"].program or manifest.program):
        add_program(tmp_path / "bin", program.names[0], "")
    posture = Posture(approvals=approvals, sandbox=sandbox)
    request = LaunchRequest(
        seat="one",
        harness=harness,
        mode="acp",
        attempt=attempt,
        workspace=str(tmp_path),
        posture=posture,
        reference=SessionReference(
            harness=harness,
            resume_type=manifest.session.resume_type,
            id="s-1",
            workspace=str(tmp_path),
            posture=posture,
            provenance=Provenance.REPORTED,
        )
        if attempt != "fresh"
        else None,
    )
    return asyncio.run(host.plan(msgspec.structs.replace(request, **choices)))


ARGUMENTS = """
model_args = ["--model", "{model}"]
effort_args = ["--effort={effort}"]
"""
VARIABLES = """
model_environment = { ACME_MODEL = "provider/{model}" }
effort_environment = { ACME_EFFORT = "{effort}" }
"""
OPTIONS = """
[modes.acp.acp]
model_option = "model"
effort_option = "thinking"
"""


def launch_keys(keys: str) -> str:
    """Keys of an argument set: that of a resume, since the manifest has the table of a fresh launch already."""
    return f'[modes.acp.resume]\nargs = ["acp"]\n{keys}\n[modes.acp.capabilities.resume]\nsupport = "supported"\n'


@pytest.mark.requirement("H-A22")
def test_model_and_effort_can_be_arguments(tmp_path: Path) -> None:
    found = plan(tmp_path, more=launch_keys(ARGUMENTS), attempt="resume", model="m 1", effort="high")

    assert found.arguments == ("acp", "--model", "m 1", "--effort=high")
    assert found.settings.config_options == {}


@pytest.mark.requirement("H-A22")
def test_model_and_effort_can_be_variables(tmp_path: Path) -> None:
    found = plan(tmp_path, more=launch_keys(VARIABLES), attempt="resume", model="m", effort="low")

    assert found.arguments == ("acp",)
    assert found.environment == {"ACME_MODEL": "provider/m", "ACME_EFFORT": "low"}


@pytest.mark.requirement("H-A22")
def test_model_and_effort_can_be_set_by_a_protocol_call_after_the_session_is_made(tmp_path: Path) -> None:
    found = plan(tmp_path, more=OPTIONS, model="m", effort="off")

    assert found.arguments == ("acp",)
    assert found.settings.config_options == {"model": "m", "thinking": "off"}


def test_arguments_go_before_options_where_a_harness_takes_both(tmp_path: Path) -> None:
    found = plan(tmp_path, more=launch_keys(ARGUMENTS) + OPTIONS, attempt="resume", model="m")

    assert found.arguments == ("acp", "--model", "m")
    assert found.settings.config_options == {}


@pytest.mark.parametrize(("choice", "article"), [("model", "a model"), ("effort", "an effort")])
def test_a_choice_that_the_harness_cannot_be_told_is_refused(
    tmp_path: Path, choice: str, article: str
) -> None:
    with pytest.raises(UsageError, match=f"cannot be told {article}") as caught:
        plan(tmp_path, model="x") if choice == "model" else plan(tmp_path, effort="x")

    assert caught.value.code == "invalid_argument"


GENERATED = """
[modes.acp.environment]
generate = ["ACME_SERVER_PASSWORD"]
"""


@pytest.mark.requirement("H-B22")
def test_a_server_that_takes_everybody_gets_a_fresh_password_for_each_launch(tmp_path: Path) -> None:
    first = plan(tmp_path, more=GENERATED).environment["ACME_SERVER_PASSWORD"]
    second = plan(tmp_path, more=GENERATED).environment["ACME_SERVER_PASSWORD"]

    assert first != second
    assert min(len(first), len(second)) >= 40


@pytest.mark.requirement("H-B22")
def test_a_password_that_the_operator_set_stays(tmp_path: Path) -> None:
    from_daemon = plan(tmp_path, more=GENERATED, environ={"ACME_SERVER_PASSWORD": "x"})
    from_seat = plan(tmp_path, more=GENERATED, environment={"ACME_SERVER_PASSWORD": "y"})

    assert "ACME_SERVER_PASSWORD" not in from_daemon.environment
    assert from_seat.environment["ACME_SERVER_PASSWORD"] == "y"


@pytest.mark.requirement("H-B22")
def test_the_built_in_harness_whose_server_takes_everybody_says_so(tmp_path: Path) -> None:
    found = plan(tmp_path, "kilo", approvals=Approvals.BYPASS)

    assert len(found.environment["KILO_SERVER_PASSWORD"]) >= 40


CONFLICTS = """
[modes.acp.environment]
strip = ["ACME_PARENT"]
conflicts = { ACME_TOKEN = ["ACME_KEY", "ACME_URL"] }
"""


@pytest.mark.requirement("L16")
def test_a_variable_that_another_one_rules_out_is_removed(tmp_path: Path) -> None:
    both = plan(tmp_path, more=CONFLICTS, environ={"ACME_TOKEN": "t", "ACME_KEY": "k"})
    alone = plan(tmp_path, more=CONFLICTS, environ={"ACME_KEY": "k"})
    empty = plan(tmp_path, more=CONFLICTS, environ={"ACME_KEY": "k", "ACME_TOKEN": ""})

    assert both.strip == ("ACME_PARENT", "ACME_KEY")
    assert alone.strip == empty.strip == ("ACME_PARENT",)


@pytest.mark.requirement("L16")
def test_what_the_operator_set_for_the_seat_itself_is_not_removed(tmp_path: Path) -> None:
    found = plan(
        tmp_path,
        more=CONFLICTS,
        environ={"ACME_URL": "u", "ACME_KEY": "k"},
        environment={"ACME_TOKEN": "t", "ACME_KEY": "mine"},
    )

    assert found.strip == ("ACME_PARENT", "ACME_URL")
    assert found.environment["ACME_KEY"] == "mine"


@pytest.mark.requirement("DEC6")
def test_a_mode_with_a_program_of_its_own_starts_that(tmp_path: Path) -> None:
    found = plan(tmp_path, "claude-code")

    assert found.program == str(tmp_path / "bin/claude-agent-acp")
    assert "CLAUDECODE" in found.strip


MARKS = {
    "claude-code": (
        "CLAUDECODE CLAUDE_CODE_SESSION_ID CLAUDE_CODE_SESSION_ATTENDED CLAUDE_CODE_CHILD_SESSION CLAUDE_PID"
        " CLAUDE_CODE_CHILD_NOTES_DIR CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_MESSAGING_SOCKET"
        " CLAUDE_CODE_MESSAGING_TOKEN CLAUDE_ENV_FILE"
    ),
    "qwen": (
        "QWEN_CODE_SESSION_ID QWEN_CODE_PROMPT_ID QWEN_CODE_AGENT_ID QWEN_CODE_LAUNCHER_PID"
        " QWEN_CODE_NO_RELAUNCH QWEN_CODE_MESSAGING_SOCKET QWEN_CODE_MESSAGING_TOKEN"
        " QWEN_CODE_PRIVATE_RELAUNCH_ENV_PROVENANCE"
    ),
    "gemini": "GEMINI_SESSION_ID GEMINI_CLI_NO_RELAUNCH",
}
"""What a harness was recorded to put around its own hooks and tools: marks of that one session."""
KEPT = {
    "claude-code": ("CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK"),
    "qwen": ("QWEN_HOME",),
    "gemini": ("GEMINI_API_KEY", "GEMINI_CLI_TRUST_WORKSPACE"),
}


@pytest.mark.requirement("L16")
@pytest.mark.parametrize("harness", MARKS)
def test_a_harness_started_from_within_itself_is_not_handed_the_marks_of_that_session(
    tmp_path: Path, harness: str
) -> None:
    manifest = HarnessHost(tmp_path, environ={}).registry.manifest(harness)
    around = dict.fromkeys((*MARKS[harness].split(), *KEPT[harness]), "x")
    for name, mode in manifest.modes.items():
        launch = LaunchPlan(
            program="x",
            arguments=(),
            cwd="/",
            settings=TransportSettings(workspace="/"),
            strip=mode.environment.strip,
        )
        assert set(harness_environment(around, launch, {})) == set(KEPT[harness]), name


@pytest.mark.requirement("H-A19")
def test_a_posture_can_be_arguments_and_a_mode_of_the_harness_at_once(tmp_path: Path) -> None:
    found = plan(tmp_path, "codex")

    assert found.arguments == ("-c", "approval_policy=on-request", "-c", "sandbox_mode=read-only")
    assert found.settings.session_mode == "read-only"


@pytest.mark.requirement("H-A20")
@pytest.mark.parametrize(
    ("sandbox", "value"),
    [
        (Sandbox.READ_ONLY, "read-only"),
        (Sandbox.WORKSPACE, "workspace-write"),
        (Sandbox.NONE, "danger-full-access"),
    ],
)
def test_a_posture_can_be_a_variable(tmp_path: Path, sandbox: Sandbox, value: str) -> None:
    found = plan(tmp_path, "dsh", approvals=Approvals.BYPASS, sandbox=sandbox)

    assert found.environment == {"DSH_PERMISSION_MODE": value}
    assert found.arguments == ("acp",)


def test_a_posture_can_be_a_session_option(tmp_path: Path) -> None:
    asking, bypassing = plan(tmp_path, "copilot"), plan(tmp_path, "copilot", approvals=Approvals.BYPASS)

    assert asking.settings.config_options == {"allow_all": "off"}
    assert bypassing.settings.config_options == {"allow_all": "on"}


@pytest.mark.requirement("H-A21")
@pytest.mark.parametrize(
    ("harness", "approvals", "sandbox"),
    [
        ("claude-code", Approvals.BYPASS, Sandbox.NONE),
        ("copilot", Approvals.EDITS, Sandbox.NONE),
        ("hermes", Approvals.ASK, Sandbox.NONE),
        ("pi", Approvals.ASK, Sandbox.NONE),
        ("qwen", Approvals.ASK, Sandbox.WORKSPACE),
    ],
)
def test_a_gap_is_refused_with_what_there_is_and_mapped_to_nothing_else(
    tmp_path: Path, harness: str, approvals: Approvals, sandbox: Sandbox
) -> None:
    with pytest.raises(UsageError) as caught:
        plan(tmp_path, harness, approvals=approvals, sandbox=sandbox)

    assert caught.value.code == "posture_unsupported"
    supported = caught.value.detail["supported"]
    assert supported
    assert f"approvals={approvals}, sandbox={sandbox}" not in supported
    assert all(one in caught.value.hint for one in supported)


@pytest.mark.requirement("H-F10")
def test_a_new_posture_is_one_rule_and_holds_for_a_resume_as_for_a_fresh_launch(tmp_path: Path) -> None:
    resumable = '[modes.acp.capabilities.resume]\nsupport = "supported"\n'
    new = '[[modes.acp.postures]]\napprovals = "edits"\nsession_mode = "edits"\nargs = ["--edits"]\n'

    attempts: tuple[Attempt, ...] = ("fresh", "resume")
    plans = [
        plan(tmp_path, more=resumable + new, attempt=attempt, approvals=Approvals.EDITS)
        for attempt in attempts
    ]

    assert [(one.arguments, one.settings.session_mode) for one in plans] == [
        (("acp", "--edits"), "edits"),
        (("acp", "--edits"), "edits"),
    ]
