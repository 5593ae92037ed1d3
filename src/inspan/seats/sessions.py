"""A seat's session beyond its turns: what may be asked of it, and what the harness is then told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

import msgspec

from inspan.model.capability import Capabilities
from inspan.model.conversation import OfferedOption
from inspan.model.errors import PluginError, UsageError
from inspan.model.events import Event, StopRequested
from inspan.model.evidence import Source
from inspan.model.permission import AnsweredBy
from inspan.model.plan import LaunchPlan
from inspan.model.session_events import (
    ConfigRequested,
    QuestionAnswered,
    SessionCallGivenUp,
    SessionDeleteRequested,
    SessionsRequested,
)
from inspan.model.state import LaunchState, SeatState, Setting
from inspan.transports import operations
from inspan.transports.operations import Operation

from .decision import Decision
from .inputs import AddSeat
from .session_inputs import ConfigureSession, DeleteSession, GiveUpCall, ListSessions, SessionCommand

__all__ = ["check_not_active", "decide_session", "fork_seat", "operations_of", "with_settings"]


def decide_session(decision: Decision, command: SessionCommand) -> None:
    """Decides on a command about the seat's session.

    Raises:
        UsageError: `seat_not_running`, `option_unknown`, `session_in_use`.
        PluginError: `unsupported_capability`: the running harness does not offer it.
    """
    match command:
        case ConfigureSession():
            _configure(decision, command)
        case ListSessions():
            _offering(decision, "list", "list its sessions")
            event = SessionsRequested(
                request=command.request, cursor=command.cursor, workspace=command.workspace
            )
            decision.emit(event, source=Source.OPERATOR, rule="session.list", in_turn=False)
        case DeleteSession():
            _offering(decision, "delete", "delete a session")
            known = decision.seat.session
            if known is not None and known.id == command.session:
                raise UsageError(
                    f"The session is the conversation of {decision.name}, so it is not deleted.",
                    code="session_in_use",
                    hint="Begin a new conversation, or remove the seat, and delete it then.",
                )
            deletion = SessionDeleteRequested(request=command.request, session=command.session)
            decision.emit(deletion, source=Source.OPERATOR, rule="session.delete", in_turn=False)
        case GiveUpCall():
            if decision.launch is not None:
                event = SessionCallGivenUp(request=command.request)
                decision.emit(event, source=Source.CORE, rule="session.call_timeout", in_turn=False)
        case _:
            assert_never(command)


def fork_seat(parent: SeatState, capabilities: Capabilities) -> AddSeat:
    """The new seat that begins with a fork of another's conversation, with all that the other was given.

    Raises:
        UsageError: `session_missing`: there is no conversation yet.
        PluginError: `unsupported_capability`: the mode is not known to fork.
    """
    claim = capabilities.fork
    if not claim.is_supported:
        raise PluginError(
            f"The harness of {parent.name} is not known to be able to fork a session in this mode "
            f"(support: {claim.support}).",
            code="unsupported_capability",
            hint=claim.note or "Make a seat with a conversation of its own.",
            detail={"attempt": "fork", "support": claim.support.value, "explanation": claim.note},
        )
    if parent.session is None:
        raise UsageError(
            f"{parent.name} has no conversation yet that could be forked.",
            code="session_missing",
            hint=f"Start it first with `inspan start {parent.name}`.",
        )
    return AddSeat(
        harness=parent.harness,
        mode=parent.mode,
        workspace=parent.workspace,
        posture=parent.posture,
        environment=parent.environment,
        model=parent.model,
        effort=parent.effort,
        trusts_workspace=parent.trusts_workspace,
        guidance=parent.guidance,
        axes=parent.axes,
        # The conversation lies in the parent's folder.
        config=parent.config,
        shares=parent.shares,
        forwards_auth=parent.forwards_auth,
        clean_environment=parent.clean_environment,
        forks=parent.session,
        parent=parent.name,
    )


def check_not_active(states: Iterable[SeatState], seat: str, harness: str, session: str) -> None:
    """Refuses a session that is open in another seat: two processes would write one conversation.

    Raises:
        UsageError: `session_in_use`.
    """
    for other in states:
        if other.name == seat or other.harness != harness or other.live_launch is None:
            continue
        if other.session is not None and other.session.id == session:
            raise UsageError(
                f"The session is active in the seat {other.name}.",
                code="session_in_use",
                hint=f"Stop it with `inspan stop {other.name}`, or fork it with `inspan seat fork {other.name} NEW`.",
                detail={"seat": other.name},
            )


def with_settings(plan: LaunchPlan, settings: Iterable[Setting]) -> LaunchPlan:
    """The plan, with what the operator wants of the conversation set before any prompt."""
    wanted = [one for one in settings if one.by == "operator"]
    if not wanted:
        return plan
    known = plan.settings
    mode = next((one.value for one in wanted if one.option is None), known.session_mode)
    options = {one.option: one.value for one in wanted if one.option is not None}
    changed = msgspec.structs.replace(
        known, session_mode=mode, config_options={**known.config_options, **options}
    )
    return msgspec.structs.replace(plan, settings=changed)


def operations_of(event: Event, state: SeatState | None) -> tuple[Operation, ...]:
    """What the transport is to do because of an event."""
    match event:
        case ConfigRequested():
            kinds = {} if state is None else {one.id: one.kind for one in state.offered_options}
            options = tuple(
                operations.Configure(option=key, value=value, is_boolean=kinds.get(key) == "boolean")
                for key, value in event.options.items()
            )
            mode = event.session_mode
            return options if mode is None else (operations.Configure(value=mode), *options)
        case SessionsRequested():
            listing = operations.ListSessions(
                request=event.request, cursor=event.cursor, workspace=event.workspace
            )
            return (listing,)
        case SessionDeleteRequested():
            return (operations.DeleteSession(request=event.request, session=event.session),)
        case SessionCallGivenUp():
            return (operations.GiveUp(request=event.request),)
        case QuestionAnswered() if event.by not in (AnsweredBy.LAUNCH_END, AnsweredBy.HARNESS):
            answer = operations.AnswerQuestion(
                wire_id=event.wire_id, action=event.action, content=event.content
            )
            return (answer,)
        case StopRequested(by="operator"):
            return (operations.CloseSession(),)
        case _:
            return ()


def _configure(decision: Decision, command: ConfigureSession) -> None:
    seat = decision.seat
    options, mode = dict(command.options), command.session_mode
    if options or mode is not None or command.model is not None:
        _ready(decision)
    if command.model is not None:
        options[_model_option(seat, decision.context.model_option)] = command.model
    for key, value in tuple(options.items()):
        option = _offered_option(seat, key)
        _check_value(option, value)
        if option.category == "mode" and option.values == seat.offered_modes:
            mode = value
            del options[key]
    if mode is not None and mode not in seat.offered_modes:
        offered = ", ".join(seat.offered_modes)
        raise UsageError(
            f"The session offers no mode {mode!r}.",
            code="option_unknown",
            hint=f"It offers: {offered}." if offered else "It offers no modes at all.",
            detail={"offered": list(seat.offered_modes)},
        )
    if options or mode is not None or command.forgets:
        decision.emit(
            ConfigRequested(session_mode=mode, options=options, forgets=command.forgets),
            source=Source.OPERATOR,
            rule="seat.set",
            in_turn=False,
        )


def _model_option(seat: SeatState, declared: str) -> str:
    for option in seat.offered_options:
        if option.id == declared or (not declared and option.category == "model"):
            return option.id
    raise PluginError(
        f"The model of {seat.name} cannot be changed within its session.",
        code="unsupported_capability",
        hint="The model is chosen when a session begins: make a seat with `inspan seat add … --model M`.",
    )


def _offered_option(seat: SeatState, key: str) -> OfferedOption:
    for option in seat.offered_options:
        if option.id == key:
            return option
    offered = [one.id for one in seat.offered_options]
    raise UsageError(
        f"The session offers no option {key!r}.",
        code="option_unknown",
        hint=f"It offers: {', '.join(offered)}." if offered else "It offers no options at all.",
        detail={"offered": offered},
    )


def _check_value(option: OfferedOption, value: str) -> None:
    values = ("true", "false") if option.kind == "boolean" else option.values
    if value in values or option.omitted or not values:
        return
    raise UsageError(
        f"The option {option.id} does not offer {value!r}.",
        code="option_unknown",
        hint=f"It offers: {', '.join(values)}.",
        detail={"option": option.id, "offered": list(values)},
    )


def _ready(decision: Decision) -> LaunchState:
    seat, launch = decision.seat, decision.launch
    if launch is None or launch.status != "ready" or not seat.session_open:
        raise UsageError(
            f"{seat.name} has no open session.",
            code="seat_not_running",
            hint=f"Start it with `inspan start {seat.name}`, and wait until it is idle.",
        )
    return launch


def _offering(decision: Decision, ability: str, what: str) -> None:
    launch = _ready(decision)
    if ability not in launch.offers:
        raise PluginError(
            f"The harness of {decision.name} does not offer to {what}.",
            code="unsupported_capability",
            hint=f"It offers: {', '.join(launch.offers) or 'nothing that is known'}.",
            detail={"offers": list(launch.offers)},
        )
