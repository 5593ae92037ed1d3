"""What a harness's own hooks say: read by the manifests of the built-in harnesses from recorded events, and weighed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import inspan.harnesses
from inspan.model.evidence import Source
from inspan.model.hooks import HookEvent, HookReport, HookSession, HookSettings, HookTurnEnd
from inspan.model.permission import NeedsInputKind
from inspan.plugin.manifest_file import load_manifest
from inspan.seats.hook_post import read_session_file
from inspan.transports.terminal.arbitration import FRESH_S, judge
from inspan.transports.terminal.claims import Claim
from inspan.transports.terminal.hook_claims import (
    NOT_HEARD,
    HookSays,
    HookState,
    fingerprint_text,
    read_hook,
)
from inspan.transports.terminal.standing import NO_CLAIMS, accept_claim

ROOT = Path(inspan.harnesses.__file__).parent
NOW = datetime(2026, 11, 30, 18, 0, tzinfo=UTC)
HOOKED = ("claude-code", "codex", "copilot", "gemini", "qwen")

HOOKS = HookSettings(
    events=(
        HookEvent(name="Start", begins_session=True),
        HookEvent(name="Prompt", says="running", prompt="prompt"),
        HookEvent(name="Tool", says="running"),
        HookEvent(
            name="Ask", when={"kind": ("permission",)}, says="needs_input", kind=NeedsInputKind.PERMISSION
        ),
        HookEvent(name="Stop", ends=HookTurnEnd()),
    ),
    ignore_when={"agent_id": ()},
    session=HookSession(id="sid", folder="cwd"),
)


def load(harness: str) -> HookSettings:
    return load_manifest(ROOT / harness).hooks


def recorded(harness: str) -> list[dict[str, Any]]:
    return json.loads((ROOT / harness / "recordings/hooks/console.json").read_text())


def report(
    event: str, order: int = 1, *, depth: int | None = 2, session: str = "", **payload: Any
) -> HookReport:
    at = int((NOW.timestamp() + order) * 1e9)
    return HookReport(
        event=event,
        order=order,
        id=f"{order}.{event}",
        at_ns=at,
        payload=payload,
        depth=depth,
        session=session,
    )


def hear(
    state: HookState,
    given: HookReport,
    settings: HookSettings = HOOKS,
    *,
    expected: str = "",
    workspace: str = "/w",
) -> HookSays:
    late = NOW + timedelta(hours=1)
    return read_hook(settings, state, given, workspace=workspace, expected=expected, now=late)


def walk(harness: str) -> list[tuple[str, HookSays]]:
    """Everything that a recorded console said, each session as a launch of its own."""
    settings, state = load(harness), NOT_HEARD
    said: list[tuple[str, HookSays]] = []
    for order, one in enumerate(recorded(harness), start=1):
        payload = one["payload"]
        if one["event"].lower() == "sessionstart":
            state = NOT_HEARD
        file = str(payload.get(settings.session.file, ""))
        given = report(one["event"], order, session=file[-14:-6] if settings.session.file else "", **payload)
        says = hear(state, given, settings, workspace=str(payload.get("cwd", "")))
        state = says.state
        said.append((one["event"], says))
    return said


@pytest.mark.parametrize("harness", HOOKED)
def test_a_recorded_console_says_what_its_session_does(harness: str) -> None:
    said = walk(harness)
    kept = [says for _, says in said if not says.dropped]
    assert kept[0].session, "its beginning names the session"
    assert all(says.dropped in ("", "unknown_event") for _, says in said), said
    claims = [says.claim for says in kept if says.claim is not None]
    assert {claim.activity for claim in claims} >= {"running", "needs_input", "idle"}
    assert {claim.kind for claim in claims if claim.activity == "needs_input"} == {NeedsInputKind.PERMISSION}
    prompts = {
        fingerprint_text(one["payload"]["prompt"])
        for one in recorded(harness)
        if one["payload"].get("prompt")
    }
    assert {says.prompt for says in kept if says.prompt} <= prompts
    assert len({says.prompt for says in kept if says.prompt}) >= 2


def test_a_limit_and_a_refused_key_are_named_where_the_harness_names_them() -> None:
    for harness, errors in {
        "claude-code": ["limited", "auth_required"],
        "copilot": ["limited", "auth_required"],
    }.items():
        ends = [says for _, says in walk(harness) if says.ends == "failed"]
        assert [says.error.code for says in ends if says.error is not None] == errors


@pytest.mark.requirement("H-D4", "L7")
def test_wrong_ids_do_not_part_a_session_whose_file_says_that_it_is_one() -> None:
    sessions = {one["payload"]["session_id"] for one in recorded("gemini")}
    files = {one["payload"]["transcript_path"] for one in recorded("gemini")}
    assert len(sessions) > len(files), "the recording holds the fault"
    said = walk("gemini")
    assert {says.session for _, says in said if says.session} == {"86b3f6d7", "2096ce4f"}
    assert [says for _, says in said if says.dropped == "other_session"] == []


@pytest.mark.requirement("H-A26")
def test_a_session_s_id_is_read_from_its_own_file_where_its_path_says_only_the_beginning(
    tmp_path: Path,
) -> None:
    rules = load("gemini").session
    whole = "2096ce4f-0673-4913-b055-8033469b9192"
    file = tmp_path / "session-2026-11-30T17-36-2096ce4f.jsonl"
    payload = {"transcript_path": str(file)}
    assert read_session_file(rules, payload) == "", "it is not there yet"
    file.write_text(json.dumps({"sessionId": whole, "projectHash": "x"}) + "\n")
    assert read_session_file(rules, payload) == whole
    file.write_text(json.dumps({"sessionId": "00000000-0673-4913-b055-8033469b9192"}))
    assert read_session_file(rules, payload) == "", "the file of another session"
    for other in ("", "/etc/passwd", str(tmp_path), "\0", 5, None):
        assert read_session_file(rules, {"transcript_path": other}) == ""
    file.unlink()
    file.symlink_to("/dev/zero")
    assert read_session_file(rules, payload) == ""


def test_the_id_is_learned_once_the_file_names_it() -> None:
    settings = load("gemini")
    path = "/t/session-1-2096ce4f.jsonl"
    begun = hear(NOT_HEARD, report("SessionStart", transcript_path=path, cwd="/w"), settings)
    assert begun.session == ""
    later = hear(begun.state, report("BeforeAgent", 2, session="2096ce4f-x", transcript_path=path), settings)
    assert later.session == "2096ce4f-x"
    again = hear(later.state, report("AfterTool", 3, session="2096ce4f-x", transcript_path=path), settings)
    assert again.session == ""


@pytest.mark.requirement("H-D4", "L7")
@pytest.mark.parametrize(
    ("given", "dropped"),
    [
        pytest.param(report("Start", 2, cwd="/w", sid="b"), "other_session", id="a second start"),
        pytest.param(report("Stop", 2, sid="b"), "other_session", id="an end of another"),
        pytest.param(report("Stop", 2, depth=4, sid="a"), "other_session", id="from further below"),
        pytest.param(report("Stop", 2, depth=4), "other_session", id="without an id, from further below"),
        pytest.param(report("Stop", 2, sid="a", agent_id="x"), "helper", id="a helper's"),
        pytest.param(report("Stop", 1, sid="a"), "", id="of the same moment, and another event"),
        pytest.param(report("Start", 1, sid="a"), "seen_before", id="twice"),
        pytest.param(report("Other", 2, sid="a"), "unknown_event", id="unknown"),
        pytest.param(report("Ask", 2, sid="a", kind="news"), "unknown_event", id="of another kind"),
    ],
)
def test_only_what_is_of_the_session_says_anything(given: HookReport, dropped: str) -> None:
    begun = hear(NOT_HEARD, report("Start", cwd="/w", sid="a"))
    assert begun.session == "a"
    says = hear(begun.state, given)
    assert says.dropped == dropped
    if dropped:
        assert says.state is begun.state


@pytest.mark.requirement("H-D4")
def test_a_session_that_begins_in_another_folder_or_is_not_the_expected_one_is_not_taken() -> None:
    elsewhere = report("Start", cwd="/elsewhere", sid="b")
    assert hear(NOT_HEARD, elsewhere).dropped == "other_session"
    stranger = report("Stop", sid="b")
    assert hear(NOT_HEARD, stranger, expected="a").dropped == "other_session"
    assert hear(NOT_HEARD, report("Stop", sid="a"), expected="a").dropped == ""


def test_an_event_that_comes_late_makes_no_claim_and_still_ends_its_turn() -> None:
    stopped = hear(NOT_HEARD, report("Stop", 5))
    late = hear(stopped.state, report("Tool", 4))
    assert (late.dropped, late.claim) == ("", None)
    assert late.state.claim == stopped.claim
    again = hear(hear(NOT_HEARD, report("Tool", 5)).state, report("Stop", 4))
    assert (again.claim, again.ends) == (None, "completed")


@pytest.mark.requirement("H-C10")
def test_a_stale_word_that_work_goes_on_is_no_evidence() -> None:
    says = hear(NOT_HEARD, report("Tool", 1))
    assert says.claim is not None
    claims = accept_claim(NO_CLAIMS, says.claim)
    fresh = judge(claims, now=says.at + timedelta(seconds=1))[1]
    stale = judge(claims, now=says.at + timedelta(seconds=FRESH_S + 1))[1]
    assert (fresh.activity, fresh.source) == ("running", Source.HOOK)
    assert stale.activity == "unknown"


@pytest.mark.requirement("H-C3")
def test_a_fresh_word_that_work_goes_on_does_not_hide_a_dialog_that_is_drawn() -> None:
    says = hear(NOT_HEARD, report("Tool", 1))
    assert says.claim is not None
    drawn = Claim(source=Source.SCREEN, rule="dialog", activity="needs_input", at=says.at, sequence=1)
    claims = accept_claim(accept_claim(NO_CLAIMS, says.claim), drawn)
    verdict = judge(claims, now=says.at)[1]
    assert (verdict.activity, verdict.is_drawn, verdict.source) == ("needs_input", True, Source.SCREEN)


@pytest.mark.parametrize(
    ("one", "other"), [("a\nb", "a\r\nb\r\n"), ("  a  ", "a"), ("a \nb", "a\nb"), ("ünï", "ünï\n")]
)
def test_a_prompt_is_known_again_whatever_became_of_its_ends(one: str, other: str) -> None:
    assert fingerprint_text(one) == fingerprint_text(other)


@pytest.mark.parametrize(
    ("one", "other"), [("a b", "ab"), ("a", "A"), ("a\nb", "a b"), ("e\u0301", "\u00e9")]
)
def test_another_prompt_is_another(one: str, other: str) -> None:
    assert fingerprint_text(one) != fingerprint_text(other)


@pytest.mark.parametrize(
    "payload",
    [
        {"sid": 5},
        {"sid": {"a": 1}},
        {"prompt": ["x"]},
        {"cwd": None},
        {"sid": "x" * 10**6},
        {"kind": True},
    ],
)
def test_a_payload_of_any_shape_is_read(payload: dict[str, Any]) -> None:
    for name in ("Start", "Prompt", "Ask", "Stop"):
        says = hear(NOT_HEARD, HookReport(event=name, order=1, id="x", at_ns=0, payload=payload))
        assert len(says.state.session) <= 256
