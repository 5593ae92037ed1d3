"""Who answers what a harness asks, and with which of its own options."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import msgspec
import pytest

from inspan.model.attention import ATTENTION_CAP
from inspan.model.capability import Claim, Support
from inspan.model.content import UnknownMessage
from inspan.model.errors import UsageError
from inspan.model.events import PermissionAnswered, PermissionOpened
from inspan.model.permission import AnsweredBy, Decision, OptionKind, PermissionOption, choose_option
from inspan.model.posture import Approvals, Posture, PostureSource, Unattended
from inspan.model.reports import PermissionWithdrawn
from inspan.model.turn import TurnOutcome
from inspan.seats.decision import Context
from inspan.seats.inputs import AnswerPermission, PermissionsExpired
from support.seat_ground import finished, open_ground
from support.seat_scene import OPTIONS, Scene, claims


def posture(unattended: Unattended = Unattended.PERSON, approvals: Approvals = Approvals.ASK) -> Posture:
    return Posture(approvals=approvals, source=PostureSource.OPERATOR, unattended=unattended)


def test_options_are_chosen_by_kind_and_the_first_of_a_kind_wins() -> None:
    chosen = choose_option(OPTIONS, (OptionKind.ALLOW_ONCE,))
    assert chosen is not None
    assert chosen.id == "once"


@pytest.mark.requirement("H-F12", "H-C8", "H-C13")
def test_a_request_waits_for_a_person_as_its_own_state() -> None:
    scene = Scene().running()
    request = scene.ask()
    assert [p.request for p in scene.seat.permissions] == [request]
    assert scene.count(PermissionAnswered) == 0
    assert scene.last(PermissionOpened).expires_at is not None


@pytest.mark.parametrize(
    ("decision", "always", "option"),
    [("allow", False, "once"), ("allow", True, "always"), ("deny", False, "no"), ("deny", True, "no")],
)
def test_an_operators_answer_takes_the_option_of_its_kind(decision: str, always: bool, option: str) -> None:
    scene = Scene().running()
    request = scene.ask()
    scene.give(AnswerPermission(request=request, decision=decision, always=always, reason="why not"))  # type: ignore[arg-type]
    settled = scene.last(PermissionAnswered)
    assert (settled.option, settled.by, settled.reason) == (option, AnsweredBy.OPERATOR, "why not")
    assert scene.seat.permissions == ()


def test_a_request_is_answered_once() -> None:
    scene = Scene().running()
    request = scene.ask()
    scene.give(AnswerPermission(request=request, decision="allow"))
    with pytest.raises(UsageError) as refusal:
        scene.give(AnswerPermission(request=request, decision="deny"))
    assert refusal.value.code == "permission_closed"
    assert not refusal.value.retry_safe
    assert scene.count(PermissionAnswered) == 1


def test_an_option_that_was_not_offered_is_refused_with_those_that_were() -> None:
    scene = Scene().running()
    request = scene.ask()
    with pytest.raises(UsageError) as refusal:
        scene.give(AnswerPermission(request=request, decision="allow", option="made-up"))
    assert refusal.value.code == "permission_option_unknown"
    assert "once-and-more" in refusal.value.hint
    scene.give(AnswerPermission(request=request, decision="allow", option="once-and-more"))
    assert scene.last(PermissionAnswered).option == "once-and-more"


class Watched(Scene):
    """A seat that is seen through its console."""

    def context(self) -> Context:
        return msgspec.structs.replace(super().context(), is_watched=True, can_type=True, typing_blocks=())


@pytest.mark.requirement("H-F6")
@pytest.mark.parametrize(
    ("can_answer", "options", "option"),
    [(False, OPTIONS, "no"), (False, (), None), (True, (), None)],
)
@pytest.mark.parametrize("unattended", [Unattended.PERSON, Unattended.ALLOW_ALWAYS])
def test_a_request_that_nobody_could_answer_is_denied_at_once_and_raises_attention(
    unattended: Unattended, can_answer: bool, options: tuple[PermissionOption, ...], option: str | None
) -> None:
    capabilities = claims() if can_answer else claims(permission_answer=Claim(support=Support.UNSUPPORTED))
    scene = Scene(posture=posture(unattended), capabilities=capabilities).running()
    request = scene.ask(options=options)
    settled = scene.last(PermissionAnswered)
    assert (settled.decision, settled.by, settled.option) == (Decision.DENY, AnsweredBy.POLICY, option)
    assert scene.seat.permissions == ()
    (note,) = scene.seat.attention
    assert (note.code, note.request) == ("permission_unanswerable", request)
    assert "rm it" in note.message
    assert scene.seat.launch is not None
    assert not scene.seat.launch.is_trusted


@pytest.mark.requirement("H-F6")
@pytest.mark.parametrize(
    ("method", "answered", "is_told"),
    [
        ("session/request_permission", True, True),
        ("item/newThing/requestApproval", True, True),
        ("item/newThing/requestApproval", False, False),
        ("fs/read_text_file", True, False),
    ],
)
def test_a_request_for_leave_that_cannot_be_read_raises_attention_and_other_calls_do_not(
    method: str, answered: bool, is_told: bool
) -> None:
    scene = Scene().running()
    scene.report(UnknownMessage(method=method, answered=answered, raw={"x": 1}))
    assert [one.code for one in scene.seat.attention] == ["permission_unanswerable"] * is_told


def test_attention_stands_until_the_next_prompt_and_is_bounded() -> None:
    scene = Scene().running()
    for number in range(20):
        scene.report(UnknownMessage(method=f"approval{number}", answered=True, raw=None))
    assert len(scene.seat.attention) == ATTENTION_CAP
    assert "approval19" in scene.seat.attention[-1].message
    scene.answered()
    assert len(scene.seat.attention) == ATTENTION_CAP
    scene.send("d-2")
    assert scene.seat.attention == ()


def test_a_request_that_a_console_s_mode_cannot_answer_is_left_to_the_console() -> None:
    cannot = Claim(support=Support.UNSUPPORTED, note="Answer it in its own window.")
    scene = Watched(
        posture=posture(Unattended.ALLOW_ONCE), capabilities=claims(permission_answer=cannot)
    ).running()
    request = scene.ask()
    assert scene.count(PermissionAnswered) == 0
    with pytest.raises(UsageError) as refusal:
        scene.give(AnswerPermission(request=request, decision="allow"))
    assert refusal.value.code == "unsupported_capability"
    assert "own window" in refusal.value.hint


@pytest.mark.requirement("H-F4")
@pytest.mark.parametrize(
    ("unattended", "approvals", "kind", "option", "decision"),
    [
        (Unattended.REJECT, Approvals.ASK, "execute", "no", Decision.DENY),
        (Unattended.ALLOW_ONCE, Approvals.ASK, "execute", "once", Decision.ALLOW),
        (Unattended.ALLOW_ALWAYS, Approvals.ASK, "execute", "always", Decision.ALLOW),
        (Unattended.PERSON, Approvals.BYPASS, "execute", "always", Decision.ALLOW),
        (Unattended.PERSON, Approvals.EDITS, "edit", "once", Decision.ALLOW),
    ],
)
def test_a_posture_answers_with_the_harnesss_own_option(
    unattended: Unattended, approvals: Approvals, kind: str, option: str, decision: Decision
) -> None:
    scene = Scene(posture=posture(unattended, approvals)).running()
    scene.ask(kind=kind)
    settled = scene.last(PermissionAnswered)
    assert (settled.option, settled.decision, settled.by) == (option, decision, AnsweredBy.POSTURE)


def test_a_posture_that_allows_edits_leaves_commands_to_a_person() -> None:
    scene = Scene(posture=posture(approvals=Approvals.EDITS)).running()
    scene.ask(kind="execute")
    assert scene.count(PermissionAnswered) == 0


@pytest.mark.requirement("H-F5", "H-N22")
def test_where_no_option_fits_the_posture_the_answer_is_cancelled_and_nothing_hangs() -> None:
    only_no = (PermissionOption(id="no", name="No", kind=OptionKind.REJECT_ONCE, raw_kind="reject_once"),)
    scene = Scene(posture=posture(Unattended.ALLOW_ALWAYS)).running()
    scene.ask(options=only_no)
    settled = scene.last(PermissionAnswered)
    assert (settled.decision, settled.option) == (Decision.CANCELLED, None)
    assert scene.seat.permissions == ()


@pytest.mark.requirement("H-F12")
def test_a_request_that_nobody_answers_is_rejected_when_its_time_is_over() -> None:
    scene = Scene().running()
    scene.ask()
    assert scene.give(PermissionsExpired()) == []
    scene.now += timedelta(hours=2)
    scene.give(PermissionsExpired())
    settled = scene.last(PermissionAnswered)
    assert (settled.decision, settled.by, settled.option) == (Decision.DENY, AnsweredBy.EXPIRY, "no")


def test_a_posture_without_a_time_limit_waits_for_ever() -> None:
    scene = Scene(posture=Posture(permission_timeout_s=None)).running()
    scene.ask()
    scene.now += timedelta(days=400)
    assert scene.give(PermissionsExpired()) == []


@pytest.mark.requirement("H-F8")
def test_an_absent_policy_is_told_from_a_chosen_floor() -> None:
    assert Scene().seat.posture.source is PostureSource.DEFAULT
    assert Scene(posture=posture()).seat.posture.source is PostureSource.OPERATOR


def test_requests_of_a_turn_that_ended_are_closed_by_the_harness() -> None:
    scene = Scene().running()
    scene.ask()
    scene.answered()
    settled = scene.last(PermissionAnswered)
    assert (settled.decision, settled.by) == (Decision.CANCELLED, AnsweredBy.HARNESS)


def test_a_request_that_the_harness_withdraws_is_closed() -> None:
    scene = Scene().running()
    scene.ask("7")
    scene.report(PermissionWithdrawn(wire_id="7"))
    assert scene.last(PermissionAnswered).by is AnsweredBy.HARNESS
    assert scene.seat.permissions == ()


@pytest.mark.requirement("H-F6")
def test_a_real_harness_that_asks_without_an_answer_to_choose_is_refused_and_goes_on() -> None:
    async def story() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            view = await finished(seats, "worker", "ask bare", "d-1")
            assert view.last_turn is not None
            assert view.last_turn.outcome is TurnOutcome.CANCELLED
            (asked,) = await seats.list_permissions(include_closed=True)
            assert (asked.decision, asked.by, asked.option) == (Decision.DENY, AnsweredBy.POLICY, None)
            (note,) = view.attention
            assert (note.code, note.request) == ("permission_unanswerable", asked.id)
            assert (await finished(seats, "worker", "say 1", "d-2")).attention == ()

    asyncio.run(story())
