"""Seats: the service, put together from the log, the host, and one actor a seat."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from inspan.model.errors import HostError, InspanError, UsageError
from inspan.model.ids import DELIVERY_ID, check_seat_name, new_id
from inspan.model.plan import LaunchRequest
from inspan.model.posture import Posture
from inspan.model.session_views import ForkSeat
from inspan.model.state import SeatState
from inspan.model.turn import CallError
from inspan.model.views import (
    AddSeat,
    AnswerPermission,
    DeliveryView,
    ExplainView,
    PermissionView,
    SeatView,
    SendPrompt,
    TurnView,
)
from inspan.plugin.launch_axes import tell_axes
from inspan.plugin.planning import find_posture
from inspan.store import DeliveryRecord, Store

from . import inputs
from .actor import SeatActor
from .checks import check_same, check_workspace
from .console_calls import ConsoleCalls, with_live_console
from .delivery_view import show_delivery
from .guidance import check_guidance
from .harness_calls import HarnessCalls
from .harnesses import Harnesses, HasLaunches, context_of, facts_of, find_mode, utc_now
from .hook_calls import HookCalls
from .isolation import decide_isolation
from .requests import RequestCalls, check_request
from .running import LaunchRunner
from .senders import find_sender
from .service import SeatService
from .session_calls import SessionCalls, check_session
from .sessions import check_not_active, fork_seat
from .signers import Signers
from .surroundings import SeatSurroundings
from .ticking import note_time
from .view import HarnessFacts, explain_seat, show_seat

__all__ = ["Seats", "open_seats"]

_TICK_S = 0.5
"""How often seats are looked at for what follows from the time alone."""

_STOP_WAIT_S = 60.0

_TIDY_WAIT_S = 5.0
"""How long the end waits for what a launch that is over leaves behind: its holder, and its folder."""


class Seats(HarnessCalls, HookCalls, RequestCalls, SessionCalls, ConsoleCalls, SeatService):
    """Fulfils `SeatService`; made by `open_seats`."""

    def __init__(
        self, *, store: Store, harnesses: Harnesses, launches: Path, environ: Mapping[str, str]
    ) -> None:
        self._store = store
        self._harnesses = harnesses
        self._surroundings = SeatSurroundings(
            store=store, harnesses=harnesses, launches=launches, environ=environ
        )
        self._environ = environ
        self._launches = launches
        self._signers = Signers(launches.parent)
        self._runner = LaunchRunner(store=store, planner=harnesses, launches=launches, environ=environ)
        self._actors: dict[str, SeatActor] = {}
        self._tasks: dict[asyncio.Task[None], Callable[[], bool]] = {}
        """The launches that are followed, each with what says whether it is over."""
        self._sending: dict[str, asyncio.Lock] = {}
        self._due: set[str] = set()

    # Seats

    async def add_seat(self, request: AddSeat) -> SeatView:
        """See `SeatService`."""
        name = check_seat_name(request.name)
        manifest = self._harnesses.registry.manifest(request.harness)
        mode = request.mode or manifest.default_mode
        posture = request.posture or Posture()
        find_posture(find_mode(manifest, mode), posture)
        tell_axes(find_mode(manifest, mode), request.axes, workspace=request.workspace)
        is_isolated = decide_isolation(manifest, wanted=request.isolated, given=request.environment)
        command = inputs.AddSeat(
            harness=manifest.id,
            mode=mode,
            workspace=check_workspace(request.workspace),
            posture=posture,
            environment=request.environment,
            model=request.model,
            effort=request.effort,
            trusts_workspace=request.trusts_workspace,
            guidance=check_guidance(manifest, find_mode(manifest, mode), request.guidance),
            axes=request.axes,
            is_isolated=is_isolated,
            shares=request.shares,
            forwards_auth=request.forwards_auth,
            clean_environment=request.clean_environment,
        )
        actor = self._actors.get(name) or self._make_actor(name, None)
        self._actors[name] = actor
        await actor.give(command)
        view = await self.get_seat(name)
        around = self._surroundings.look(self._state(name))
        problems = await self._harnesses.preflight(
            LaunchRequest(
                seat=name,
                harness=manifest.id,
                mode=mode,
                attempt="fresh",
                workspace=command.workspace,
                posture=posture,
                model=request.model,
                effort=request.effort,
                environment=around.given,
                withheld=around.withheld,
            )
        )
        standing = next((problem for problem in problems if problem.is_fatal), None)
        return view if standing is None else msgspec.structs.replace(view, problem=standing)

    async def list_seats(self) -> Sequence[SeatView]:
        """See `SeatService`."""
        return [self._show(state) for state in self._store.seat_states()]

    async def get_seat(self, name: str) -> SeatView:
        """See `SeatService`."""
        return self._show(self._state(name))

    async def remove_seat(self, name: str, *, stop: bool = False, delete_config: bool = False) -> SeatView:
        """See `SeatService`."""
        actor = self._actor(name)
        if stop and actor.state is not None and actor.state.live_launch is not None:
            await actor.give(inputs.StopSeat())
            if not await actor.wait_until(_is_stopped, _STOP_WAIT_S):
                raise HostError(
                    f"The harness of {name} did not end within {_STOP_WAIT_S:g} seconds.",
                    code="holder_timeout",
                    hint=f"`inspan explain {name}` shows what is known of it; try again.",
                )
        state = self._state(name)
        view = self._show(state)
        await actor.give(inputs.RemoveSeat())
        if delete_config:
            await self._surroundings.remove(state)
        return view

    async def start_seat(self, name: str, *, fresh: bool = False, session: str | None = None) -> SeatView:
        """See `SeatService`."""
        actor, state = self._actor(name), self._state(name)
        if session is not None:
            if fresh:
                raise UsageError(
                    "A start is fresh, or takes up a session, not both.", hint="Leave one of the two out."
                )
            manifest = self._harnesses.registry.manifest(state.harness)
            pattern = manifest.session.id_pattern
            check_session(self.states(), state, session, pattern=pattern, harness_name=manifest.name)
        elif state.session is not None and not fresh:
            check_not_active(self.states(), name, state.harness, state.session.id)
        await actor.give(inputs.StartSeat(fresh=fresh, session=session))
        return await self.get_seat(name)

    async def fork_seat(self, name: str, request: ForkSeat) -> SeatView:
        """See `SeatService`."""
        parent, new = self._state(name), check_seat_name(request.name)
        manifest = self._harnesses.registry.manifest(parent.harness)
        command = fork_seat(parent, find_mode(manifest, parent.mode).capabilities)
        check_workspace(parent.workspace)
        actor = self._actors.get(new) or self._make_actor(new, None)
        self._actors[new] = actor
        await actor.give(command)
        return await self.get_seat(new)

    def actor(self, name: str) -> SeatActor:
        """See `session_calls.Actors`."""
        return self._actor(name)

    def states(self) -> Sequence[SeatState]:
        """See `session_calls.Actors`."""
        return self._store.seat_states()

    async def stop_seat(self, name: str) -> SeatView:
        """See `SeatService`."""
        await self._actor(name).give(inputs.StopSeat())
        return await self.get_seat(name)

    async def release_seat(self, name: str) -> SeatView:
        """See `SeatService`."""
        await self._actor(name).give(inputs.ReleaseQueue())
        return await self.get_seat(name)

    async def cancel_turn(self, name: str) -> SeatView:
        """See `SeatService`."""
        await self._actor(name).give(inputs.CancelTurn())
        return await self.get_seat(name)

    async def explain_seat(self, name: str) -> ExplainView:
        """See `SeatService`."""
        state = self._state(name)
        actor = self._actor(name)
        view = explain_seat(state, self._facts(state), utc_now(), attached=actor.is_attached)
        if actor.console is None:
            return view
        return msgspec.structs.replace(view, console=await actor.console.explain())

    # Deliveries and turns

    async def send_prompt(self, name: str, request: SendPrompt, *, peer: int | None = None) -> DeliveryView:
        """See `SeatService`."""
        delivery = request.id or new_id("d")
        if not DELIVERY_ID.fullmatch(delivery):
            raise UsageError(
                f"{delivery!r} cannot be a delivery's id.",
                hint="Use 1 to 128 letters, digits, '.', '_', ':' and '-', beginning with a letter or a digit.",
            )
        actor = self._actor(name)
        lock = self._sending.setdefault(delivery, asyncio.Lock())
        try:
            async with lock:
                known = self._store.delivery(delivery)
                if known is None:
                    if request.request is not None:
                        check_request(self._store, request.request)
                    await actor.give(
                        inputs.QueuePrompt(
                            delivery=delivery,
                            text=request.text,
                            request=request.request or "",
                            is_urgent=request.now,
                            override=request.override,
                            sender=find_sender(peer, self.states()),
                            signer=await self._signers.check(name, delivery, request),
                        )
                    )
                else:
                    check_same(known, name, request)
        finally:
            if not lock.locked():
                self._sending.pop(delivery, None)
        return await self.get_delivery(delivery)

    async def list_deliveries(self, name: str, *, limit: int = 100) -> Sequence[DeliveryView]:
        """See `SeatService`."""
        self._known(name)
        return [show_delivery(self._store, record) for record in self._store.deliveries(name, limit)]

    async def get_delivery(self, delivery: str) -> DeliveryView:
        """See `SeatService`."""
        return show_delivery(self._store, self._delivery(delivery))

    async def withdraw_delivery(self, delivery: str) -> DeliveryView:
        """See `SeatService`."""
        record = self._delivery(delivery)
        await self._actor(record.seat).give(inputs.WithdrawDelivery(delivery=delivery))
        return await self.get_delivery(delivery)

    async def list_turns(self, name: str, *, limit: int = 100) -> Sequence[TurnView]:
        """See `SeatService`."""
        self._known(name)
        return self._store.turns(name, limit)

    async def get_turn(self, turn: str) -> TurnView:
        """See `SeatService`."""
        record = self._store.turn(turn)
        if record is None:
            raise UsageError(f"There is no turn {turn!r}.", code="unknown_turn")
        return record

    # Permissions

    async def list_permissions(
        self, *, seat: str | None = None, include_closed: bool = False
    ) -> Sequence[PermissionView]:
        """See `SeatService`."""
        if seat is not None:
            self._known(seat)
        return [record.view for record in self._store.permissions(seat, include_closed=include_closed)]

    async def get_permission(self, request: str) -> PermissionView:
        """See `SeatService`."""
        record = self._store.permission(request)
        if record is None:
            raise UsageError(
                f"There is no permission request {request!r}.",
                code="unknown_permission",
                hint="`inspan permissions` shows the open ones.",
            )
        return record.view

    async def answer_permission(self, request: str, answer: AnswerPermission) -> PermissionView:
        """See `SeatService`."""
        view = await self.get_permission(request)
        if answer.seat is not None and answer.seat != view.seat:
            raise UsageError(
                f"The permission request {request} belongs to the seat {view.seat}, not to {answer.seat}.",
                code="permission_of_other_seat",
                hint=f"`inspan permissions {answer.seat}` shows those of {answer.seat}.",
            )
        if view.decision is not None:
            raise UsageError(
                f"The permission request {request} was settled before: {view.decision} by {view.by}.",
                code="permission_closed",
                hint="Nothing was changed.",
                retry_safe=False,
                detail={"request": request, "decision": str(view.decision), "by": str(view.by)},
            )
        command = inputs.AnswerPermission(
            request=request,
            decision=answer.decision,
            option=answer.option,
            always=answer.always,
            reason=answer.reason,
        )
        await self._actor(view.seat).give(command)
        return await self.get_permission(request)

    # Life

    async def restore(self) -> None:
        """Takes up every seat where the log says that it stands. Called once, before anything is asked."""
        states = self._store.seat_states(include_removed=True)
        live = {state.live_launch.id for state in states if state.live_launch is not None}
        self._runner.sweep(live)
        self.watch_requests()
        for state in states:
            actor = self._actors[state.name] = self._make_actor(state.name, state)
            if state.live_launch is not None:
                actor.link = await self._runner.restore_link(state)
        for state in states:
            if state.live_launch is not None:
                self._spawn(self._actors[state.name], state.live_launch.id)

    async def tick(self) -> None:
        """Gives every seat what its time has come for, for ever."""
        while True:
            await asyncio.sleep(_TICK_S)
            with contextlib.suppress(InspanError):
                await self.pass_on_requests()
            for actor in list(self._actors.values()):
                with contextlib.suppress(InspanError):
                    await note_time(actor, self._harnesses)

    async def close(self) -> None:
        """Lets go of every launch; the harnesses run on under their holders."""
        await asyncio.gather(*(actor.close() for actor in self._actors.values()))
        tidying = [task for task, is_over in self._tasks.items() if is_over()]
        if tidying:
            await asyncio.wait(tidying, timeout=_TIDY_WAIT_S)
        left = tuple(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _spawn(self, actor: SeatActor, launch: str) -> None:
        task = asyncio.create_task(self._runner.run(actor, launch), name=f"launch {launch}")
        self._tasks[task] = lambda: not _is_live(actor.state, launch)
        task.add_done_callback(self._tasks.pop)

    def _make_actor(self, name: str, state: SeatState | None) -> SeatActor:
        return SeatActor(
            name,
            state,
            store=self._store,
            context=lambda state: context_of(self._harnesses, state),
            classify=self._classify,
            spawn=self._spawn,
        )

    def _actor(self, name: str) -> SeatActor:
        actor = self._actors.get(name)
        if actor is None:
            raise _unknown_seat(name)
        return actor

    def _state(self, name: str) -> SeatState:
        state = self._store.seat_state(name)
        if state is None or state.removed:
            raise _unknown_seat(name)
        return state

    def _delivery(self, delivery: str) -> DeliveryRecord:
        record = self._store.delivery(delivery)
        if record is None:
            raise UsageError(
                f"There is no delivery {delivery!r}.",
                code="unknown_delivery",
                hint="`inspan deliveries SEAT` shows those of a seat.",
            )
        return record

    async def _classify(self, state: SeatState, error: CallError) -> CallError:
        try:
            error = await self._harnesses.classify_error(state.harness, state.mode, error)
        except InspanError:
            return error
        return self._surroundings.explain(state, error)

    def _facts(self, state: SeatState) -> HarnessFacts:
        """What a view says of the harness; a fault of ours goes before everything else."""
        facts = facts_of(self._harnesses, state)
        actor = self._actors.get(state.name)
        if actor is not None and actor.fault is not None:
            facts.problem = actor.fault
        return facts

    def _known(self, name: str) -> SeatState:
        """The state of a seat, removed or not: its history stays readable."""
        state = self._store.seat_state(name)
        if state is None:
            raise _unknown_seat(name)
        return state

    def _show(self, state: SeatState) -> SeatView:
        view = self._surroundings.show(show_seat(state, self._facts(state), utc_now()), state)
        actor = self._actors.get(state.name)
        if actor is None or actor.console is None or view.console is None:
            return view
        return with_live_console(view, actor.console, actor.state)


@asynccontextmanager
async def open_seats(
    *,
    store: Store,
    host: Harnesses,
    home: HasLaunches,
    environ: Mapping[str, str] | None = None,
) -> AsyncGenerator[Seats]:
    """Opens the seats of a home: takes up what an earlier daemon left, and lets go of it at the end.

    Args:
        store: The home's log, open for writing.
        host: Knows harnesses.
        home: Says where launches keep their folders.
        environ: The environment that harnesses inherit; this process's unless given.
    """
    seats = Seats(
        store=store,
        harnesses=host,
        launches=home.launches,
        environ=dict(os.environ if environ is None else environ),
    )
    await seats.restore()
    ticker = asyncio.create_task(seats.tick(), name="permission time limits")
    try:
        yield seats
    finally:
        ticker.cancel()
        await asyncio.gather(ticker, return_exceptions=True)
        await seats.close()


def _is_live(state: SeatState | None, launch: str) -> bool:
    return state is not None and state.live_launch is not None and state.live_launch.id == launch


def _is_stopped(state: SeatState | None) -> bool:
    return state is None or state.live_launch is None


def _unknown_seat(name: str) -> UsageError:
    return UsageError(
        f"There is no seat {name!r}.",
        code="unknown_seat",
        hint="`inspan seat list` shows the seats.",
        detail={"seat": name},
    )
