"""The permission broker: who answers what a harness asks, and with which of its own options."""

from __future__ import annotations

from datetime import timedelta

from inspan.model.errors import UsageError
from inspan.model.events import PermissionAnswered, PermissionOpened
from inspan.model.evidence import Source
from inspan.model.permission import AnsweredBy, NeedsInputKind, OptionKind, choose_option
from inspan.model.permission import Decision as PermissionDecision
from inspan.model.posture import Approvals, Posture, Unattended
from inspan.model.reports import PermissionRequested, Reported
from inspan.model.state import OpenPermission

from .console_trust import is_trust_allowed
from .decision import Decision
from .inputs import AnswerPermission
from .questions import close_questions, expire_questions
from .unanswerable import raise_attention, why_unanswerable

__all__ = [
    "answer_permission",
    "close_permissions",
    "expire_permissions",
    "open_permission",
    "standing_answer",
    "withdraw_permission",
]

_ALLOW_ONCE = (OptionKind.ALLOW_ONCE,)
_ALLOW_ALWAYS = (OptionKind.ALLOW_ALWAYS, OptionKind.ALLOW_ONCE)
_REJECT = (OptionKind.REJECT_ONCE, OptionKind.REJECT_ALWAYS)


def open_permission(decision: Decision, reported: Reported, body: PermissionRequested) -> None:
    """Records that the harness asks, and answers at once where posture or a pending cancel decide it."""
    seat = decision.seat
    is_gate = reported.source is Source.SCREEN and body.tool_call.kind != NeedsInputKind.PERMISSION
    timeout_s = None if is_gate else seat.posture.permission_timeout_s
    now = decision.context.now
    request = decision.context.new_id("p")
    decision.emit(
        PermissionOpened(
            request=request,
            wire_id=body.wire_id,
            tool_call=body.tool_call,
            options=body.options,
            expires_at=None if timeout_s is None else now + timedelta(seconds=timeout_s),
        ),
        source=reported.source,
        rule=reported.rule,
        session=reported.session,
    )
    opened = _find(decision, request)
    if opened is None:
        return
    if seat.in_flight is not None and seat.in_flight.cancel_requested:
        _settle(
            decision, opened, None, PermissionDecision.CANCELLED, AnsweredBy.CANCEL, "a cancel is pending"
        )
        return
    if why := why_unanswerable(decision, opened):
        chosen = choose_option(opened.options, _REJECT)
        option = None if chosen is None else chosen.id
        _settle(decision, opened, option, PermissionDecision.DENY, AnsweredBy.POLICY, why)
        raise_attention(decision, opened, why)
        return
    if not decision.context.capabilities.permission_answer.is_supported:
        return
    if is_gate:
        # What a console asks before or beside its work is answered by a person, but for the one thing that its
        # operator allowed.
        if is_trust_allowed(seat, body.tool_call):
            reason = "its operator said that the workspace is trusted"
            _choose(decision, opened, _ALLOW_ONCE, PermissionDecision.ALLOW, AnsweredBy.POLICY, reason)
        return
    wanted = standing_answer(seat.posture, body.tool_call.kind)
    if wanted is not None:
        kinds, verdict, reason = wanted
        _choose(decision, opened, kinds, verdict, AnsweredBy.POSTURE, reason)


def standing_answer(
    posture: Posture, tool_kind: str
) -> tuple[tuple[OptionKind, ...], PermissionDecision, str] | None:
    """What a posture answers by itself: wanted option kinds, decision, reason; `None` leaves it to a person.

    A floor takes the harness's own reject option, an automatic posture allows once, and a full bypass prefers
    the standing allow (H-F4).
    """
    match posture.unattended:
        case Unattended.REJECT:
            return _REJECT, PermissionDecision.DENY, "posture: unattended requests are rejected"
        case Unattended.ALLOW_ONCE:
            return _ALLOW_ONCE, PermissionDecision.ALLOW, "posture: unattended requests are allowed once"
        case Unattended.ALLOW_ALWAYS:
            return _ALLOW_ALWAYS, PermissionDecision.ALLOW, "posture: unattended requests are allowed"
        case Unattended.PERSON:
            pass
    if posture.approvals is Approvals.BYPASS:
        return _ALLOW_ALWAYS, PermissionDecision.ALLOW, "posture: approvals are bypassed"
    if posture.approvals is Approvals.EDITS and tool_kind == "edit":
        return _ALLOW_ONCE, PermissionDecision.ALLOW, "posture: edits are allowed"
    return None


def answer_permission(decision: Decision, command: AnswerPermission) -> None:
    """Answers an open request as its operator said, once.

    Raises:
        UsageError: `permission_closed`, `permission_option_unknown`, `unsupported_capability`.
    """
    opened = _find(decision, command.request)
    if opened is None:
        raise UsageError(
            f"The permission request {command.request} is not open any more.",
            code="permission_closed",
            hint="`inspan permissions --all` shows how it was answered.",
            retry_safe=False,
            detail={"request": command.request},
        )
    claim = decision.context.capabilities.permission_answer
    if not claim.is_supported:
        raise UsageError(
            "This harness reports what it asks, but cannot be answered in this mode.",
            code="unsupported_capability",
            hint=claim.note or "Answer it in the harness's own window.",
        )
    verdict = PermissionDecision.ALLOW if command.decision == "allow" else PermissionDecision.DENY
    by, reason = AnsweredBy.OPERATOR, command.reason
    if command.option is not None:
        chosen = next((option for option in opened.options if option.id == command.option), None)
        if chosen is None:
            raise UsageError(
                f"The permission request {command.request} offers no option {command.option!r}.",
                code="permission_option_unknown",
                hint="It offers: " + ", ".join(f"{o.id} ({o.kind})" for o in opened.options) + ".",
            )
        _settle(decision, opened, chosen.id, verdict, by, reason)
        return
    if verdict is PermissionDecision.ALLOW:
        kinds = _ALLOW_ALWAYS if command.always else _ALLOW_ONCE
    else:
        kinds = (OptionKind.REJECT_ALWAYS, OptionKind.REJECT_ONCE) if command.always else _REJECT
    chosen = choose_option(opened.options, kinds)
    if chosen is None and verdict is PermissionDecision.ALLOW:
        raise UsageError(
            f"The permission request {command.request} offers no option that allows it like this.",
            code="permission_option_unknown",
            hint="It offers: " + ", ".join(f"{o.id} ({o.kind})" for o in opened.options) + "; use --option.",
        )
    _settle(decision, opened, None if chosen is None else chosen.id, verdict, by, reason)


def expire_permissions(decision: Decision) -> None:
    """Rejects every open request and question whose time is over: a harness never waits for a person who is not there."""
    for opened in decision.seat.permissions:
        if opened.expires_at is not None and opened.expires_at <= decision.context.now:
            reason = "nobody answered in time"
            _choose(decision, opened, _REJECT, PermissionDecision.DENY, AnsweredBy.EXPIRY, reason)
    expire_questions(decision)


def close_permissions(decision: Decision, by: AnsweredBy, reason: str, *, turn: str | None = None) -> None:
    """Settles open requests and questions as `cancelled`: all of them, or those of one turn."""
    for opened in decision.seat.permissions:
        if turn is None or opened.turn == turn:
            _settle(decision, opened, None, PermissionDecision.CANCELLED, by, reason)
    close_questions(decision, by, reason, turn=turn)


def withdraw_permission(decision: Decision, wire_id: str) -> None:
    """Settles a request that the harness itself no longer wants answered."""
    for opened in decision.seat.permissions:
        if opened.wire_id == wire_id:
            reason = "the harness withdrew it"
            _settle(decision, opened, None, PermissionDecision.CANCELLED, AnsweredBy.HARNESS, reason)


def _choose(
    decision: Decision,
    opened: OpenPermission,
    kinds: tuple[OptionKind, ...],
    verdict: PermissionDecision,
    by: AnsweredBy,
    reason: str,
) -> None:
    chosen = choose_option(opened.options, kinds)
    if chosen is None:
        reason = f"{reason}, but no such option is offered"
        _settle(decision, opened, None, PermissionDecision.CANCELLED, by, reason)
    else:
        _settle(decision, opened, chosen.id, verdict, by, reason)


def _settle(
    decision: Decision,
    opened: OpenPermission,
    option: str | None,
    verdict: PermissionDecision,
    by: AnsweredBy,
    reason: str,
) -> None:
    label = next((o.name for o in opened.options if o.id == option), "")
    source = {
        AnsweredBy.OPERATOR: Source.OPERATOR,
        AnsweredBy.POSTURE: Source.POLICY,
        AnsweredBy.EXPIRY: Source.POLICY,
        AnsweredBy.POLICY: Source.POLICY,
        AnsweredBy.CANCEL: Source.OPERATOR,
        AnsweredBy.LAUNCH_END: Source.PROCESS,
        AnsweredBy.HARNESS: Source.PROTOCOL,
    }[by]
    decision.emit(
        PermissionAnswered(
            request=opened.request,
            wire_id=opened.wire_id,
            decision=verdict,
            by=by,
            option=option,
            option_name=label,
            reason=reason,
        ),
        source=source,
        rule=f"permission.{by}",
    )


def _find(decision: Decision, request: str) -> OpenPermission | None:
    return next((p for p in decision.seat.permissions if p.request == request), None)
