"""What the projections say of seats, deliveries, turns and permission requests."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from inspan.model.content import UsageUpdated
from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.events import (
    CancelRequested,
    DeliveryFailed,
    DeliveryHeld,
    DeliveryRefused,
    DeliverySent,
    DeliveryStarted,
    DeliveryUnknown,
    Event,
    EventDraft,
    LaunchEnded,
    PermissionAnswered,
    SeatRemoved,
    SessionOpened,
)
from inspan.model.evidence import Source
from inspan.model.evolving import evolve
from inspan.model.permission import AnsweredBy, Decision
from inspan.model.session import IdentityState, OpenedHow, Provenance
from inspan.model.state import SeatState
from inspan.model.turn import TurnOutcome
from inspan.model.turn_events import QueueReleased
from inspan.model.views import TurnView
from inspan.seats.delivery_view import show_delivery
from inspan.store import DeliveryRecord, PermissionRecord, Store, open_store
from inspan.store.projections import Projector
from inspan.store.schema import connect_writer, migrate
from support.store.drafts import (
    ERROR,
    START,
    add_seat,
    appending,
    chunk,
    draft,
    held,
    launch,
    open_permission,
    queue,
    reference,
    sending,
    turn_ended,
)

Scene = Callable[[Store], Awaitable[None]]


@pytest.fixture
def play(throwaway_home: Path) -> Callable[[Scene], None]:
    """Plays a scene on a fresh log, and has the log checked against its events afterwards."""

    def run(scene: Scene) -> None:
        async def whole() -> None:
            async with open_store(throwaway_home / "inspan" / "log.db") as store:
                await scene(store)
                assert (await store.check()).problems == ()

        asyncio.run(whole())

    return run


def delivery(store: Store, name: str) -> DeliveryRecord:
    record = store.delivery(name)
    assert record is not None
    return record


def turn(store: Store, name: str) -> TurnView:
    view = store.turn(name)
    assert view is not None
    return view


def permission(store: Store, name: str) -> PermissionRecord:
    record = store.permission(name)
    assert record is not None
    return record


def seat(store: Store, name: str = "worker") -> SeatState:
    state = store.seat_state(name)
    assert state is not None
    return state


async def tell(store: Store, *drafts: EventDraft) -> None:
    await store.append(appending(*drafts))


async def start_turn(store: Store, *, launch_id: str = "l1") -> None:
    await tell(store, add_seat(), *launch(launch_id), queue("d1"), sending("d1", "t1", launch=launch_id))
    await tell(store, draft(DeliverySent(delivery="d1"), launch=launch_id))


def test_a_seats_state_is_the_fold_of_its_events(play: Callable[[Scene], None]) -> None:
    async def scene(store: Store) -> None:
        given = (add_seat(), *launch("l1"), queue("d1"), draft(UsageUpdated(used=5, size=10), launch="l1"))
        expected = None
        for one in given:
            expected = evolve(expected, one)
        await tell(store, *given, add_seat("other"))
        assert store.seat_state("worker") == expected
        assert store.seat_state("nobody") is None
        assert [state.name for state in store.seat_states()] == ["worker", "other"]

    play(scene)


def test_the_time_at_which_a_hold_ends_is_kept_for_as_long_as_the_prompt_is_held(
    play: Callable[[Scene], None],
) -> None:
    async def scene(store: Store) -> None:
        until = START + timedelta(hours=3)
        limited = DeliveryHeld(delivery="d1", why=HeldReason.LIMITED, until=until)
        await store.append(appending(add_seat(), queue("d1"), queue("d2"), draft(limited)))
        assert [(one.held, one.held_until) for one in store.deliveries("worker")] == [
            (HeldReason.LIMITED, until),
            (None, None),
        ]
        assert show_delivery(store, delivery(store, "d1")).held_until == until
        await store.append(appending(draft(QueueReleased())))
        assert (delivery(store, "d1").state, delivery(store, "d1").held_until) == (DeliveryState.QUEUED, None)

    play(scene)


@pytest.mark.requirement("H-B28")
@pytest.mark.parametrize("provenance", [Provenance.REPORTED, Provenance.CHOSEN])
def test_the_session_id_is_an_event_and_the_seats_projection_persists_it_across_restarts(
    throwaway_home: Path, provenance: Provenance
) -> None:
    path = throwaway_home / "inspan" / "log.db"
    session = msgspec.structs.replace(reference("agent/conversation-7"), provenance=provenance)

    async def scene() -> None:
        async with open_store(path) as store:
            await tell(store, add_seat(), *launch("l1")[:3])
            assert seat(store).identity is IdentityState.NOT_YET
            opened = SessionOpened(launch="l1", reference=session, how=OpenedHow.NEW)
            await tell(store, draft(opened, launch="l1", source=Source.PROTOCOL))
        async with open_store(path) as store:
            assert seat(store).session == session
            await tell(store, draft(LaunchEnded(launch="l1", reason="exit"), launch="l1"))
            late = SessionOpened(launch="l0", reference=reference("another"), how=OpenedHow.NEW)
            await tell(store, draft(late, launch="l0"))
            assert seat(store).session == session
            assert [e.event for e in store.events(types=frozenset({"session_opened"}))] == [opened, late]

    asyncio.run(scene())


@pytest.mark.requirement("H-C9")
def test_accepted_input_an_idle_session_and_completed_work_are_three_records(
    play: Callable[[Scene], None],
) -> None:
    async def scene(store: Store) -> None:
        await start_turn(store)
        assert delivery(store, "d1").state is DeliveryState.SENT
        assert turn(store, "t1").outcome is None
        assert seat(store).activity.value == "running"
        await tell(store, draft(DeliveryStarted(delivery="d1"), launch="l1"))
        await tell(store, turn_ended("t1", "d1", TurnOutcome.COMPLETED, launch="l1", after_s=9))
        assert delivery(store, "d1").state is DeliveryState.STARTED
        assert turn(store, "t1") == TurnView(
            id="t1",
            seat="worker",
            delivery="d1",
            begun_at=START,
            launch="l1",
            outcome=TurnOutcome.COMPLETED,
            ended_at=START + timedelta(seconds=9),
            raw_reason="because",
        )
        assert seat(store).activity.value == "idle"

    play(scene)


def test_a_delivery_is_queued_with_its_text_and_hash(play: Callable[[Scene], None]) -> None:
    async def scene(store: Store) -> None:
        await tell(store, add_seat(), queue("d1", text="büro"), queue("d2"))
        assert delivery(store, "d1") == DeliveryRecord(
            id="d1",
            seat="worker",
            state=DeliveryState.QUEUED,
            queued_at=START,
            text="büro",
            text_hash=hashlib.sha256("büro".encode()).hexdigest(),
        )
        assert store.delivery("d3") is None
        assert [record.id for record in store.deliveries("worker", 10)] == ["d1", "d2"]
        assert [record.id for record in store.deliveries("worker", 1)] == ["d2"]
        assert store.deliveries("other", 10) == []

    play(scene)


def test_an_id_names_one_delivery_for_ever(play: Callable[[Scene], None]) -> None:
    async def scene(store: Store) -> None:
        await tell(store, add_seat(), add_seat("other"), queue("d1", text="first"))
        await tell(store, queue("d1", text="second"), queue("d1", text="third", seat="other"))
        assert delivery(store, "d1").text == "first"
        assert store.deliveries("other", 10) == []

    play(scene)


def test_a_held_prompt_that_was_never_written_has_no_turn(play: Callable[[Scene], None]) -> None:
    async def scene(store: Store) -> None:
        await tell(store, add_seat(), *launch("l1"), queue("d1"), sending("d1", "t1", launch="l1"))
        assert delivery(store, "d1").state is DeliveryState.SENDING
        assert delivery(store, "d1").turn == turn(store, "t1").id
        await tell(store, held("d1", launch="l1"))
        record = delivery(store, "d1")
        assert (record.state, record.held, record.turn, record.launch) == (
            DeliveryState.HELD,
            HeldReason.HARNESS_EXITED,
            None,
            None,
        )
        assert store.turn("t1") is None
        assert store.turns("worker", 10) == []
        assert seat(store).turns == 0
        await tell(store, *launch("l2"), sending("d1", "t2", launch="l2"))
        assert (delivery(store, "d1").state, delivery(store, "d1").turn) == (DeliveryState.SENDING, "t2")
        assert delivery(store, "d1").held is None
        assert [view.id for view in store.turns("worker", 10)] == ["t2"]

    play(scene)


def test_a_new_launch_takes_queued_prompts_out_of_their_hold(play: Callable[[Scene], None]) -> None:
    async def scene(store: Store) -> None:
        await tell(store, add_seat(), queue("d1"), queue("d2"), held("d1"))
        assert [p.held for p in seat(store).queue] == [HeldReason.HARNESS_EXITED, None]
        assert delivery(store, "d1").state is DeliveryState.HELD
        await tell(store, *launch("l1"))
        assert [p.held for p in seat(store).queue] == [None, None]
        record = delivery(store, "d1")
        assert (record.state, record.held, record.error) == (DeliveryState.QUEUED, None, None)

    play(scene)


@pytest.mark.parametrize("late", [DeliveryRefused, DeliveryFailed, DeliveryUnknown])
def test_started_is_final(
    play: Callable[[Scene], None], late: type[DeliveryRefused | DeliveryFailed | DeliveryUnknown]
) -> None:
    async def scene(store: Store) -> None:
        await start_turn(store)
        await tell(store, draft(DeliveryStarted(delivery="d1"), launch="l1"))
        await tell(store, draft(late(delivery="d1", error=ERROR), launch="l1"))
        assert (delivery(store, "d1").state, delivery(store, "d1").error) == (DeliveryState.STARTED, None)

    play(scene)


@pytest.mark.parametrize(
    ("event", "state"),
    [
        (DeliveryRefused(delivery="d1", error=ERROR), DeliveryState.REFUSED),
        (DeliveryFailed(delivery="d1", error=ERROR), DeliveryState.FAILED),
        (DeliveryUnknown(delivery="d1", error=ERROR), DeliveryState.UNKNOWN),
    ],
)
def test_an_attempt_that_ends_otherwise_keeps_its_error_and_only_unknown_may_still_start(
    play: Callable[[Scene], None], event: Event, state: DeliveryState
) -> None:
    async def scene(store: Store) -> None:
        await start_turn(store)
        await tell(store, draft(event, launch="l1"))
        assert (delivery(store, "d1").state, delivery(store, "d1").error) == (state, ERROR)
        await tell(store, draft(DeliveryStarted(delivery="d1"), launch="l1"))
        final = DeliveryState.STARTED if state is DeliveryState.UNKNOWN else state
        assert delivery(store, "d1").state is final

    play(scene)


def test_a_late_report_of_an_earlier_launch_completes_its_own_turn_and_changes_no_state(
    play: Callable[[Scene], None],
) -> None:
    async def scene(store: Store) -> None:
        await start_turn(store)
        await tell(
            store,
            draft(DeliveryUnknown(delivery="d1", error=ERROR), launch="l1"),
            turn_ended("t1", "d1", TurnOutcome.LOST, launch="l1", source=Source.CORE),
            draft(LaunchEnded(launch="l1", reason="holder_lost"), launch="l1"),
            *launch("l2", session="session-2"),
            queue("d2"),
            sending("d2", "t2", launch="l2"),
        )
        before = seat(store)
        await tell(
            store,
            draft(DeliveryStarted(delivery="d1"), launch="l1", source=Source.PROTOCOL),
            turn_ended("t1", "d1", TurnOutcome.COMPLETED, launch="l1", after_s=5),
            turn_ended("t2", "d2", TurnOutcome.FAILED, launch="l1"),
            draft(DeliveryStarted(delivery="d2"), launch="l1"),
            draft(DeliveryFailed(delivery="d2", error=ERROR), launch="l1"),
            draft(CancelRequested(turn="t2"), launch="l1"),
            held("d2", launch="l1"),
            open_permission("p1", launch="l1"),
        )
        assert seat(store) == before
        assert delivery(store, "d1").state is DeliveryState.STARTED
        assert turn(store, "t1").outcome is TurnOutcome.COMPLETED
        assert turn(store, "t1").ended_at == START + timedelta(seconds=5)
        assert delivery(store, "d2").state is DeliveryState.SENDING
        assert (turn(store, "t2").outcome, turn(store, "t2").cancel_requested) == (None, False)
        assert store.permission("p1") is None

    play(scene)


def test_an_outcome_is_corrected_by_a_stronger_source_alone(play: Callable[[Scene], None]) -> None:
    async def scene(store: Store) -> None:
        await start_turn(store)
        for source, outcome, kept in (
            (Source.PROCESS, TurnOutcome.FAILED, TurnOutcome.FAILED),
            (Source.CORE, TurnOutcome.LOST, TurnOutcome.FAILED),
            (Source.PROCESS, TurnOutcome.LOST, TurnOutcome.FAILED),
            (Source.PROTOCOL, TurnOutcome.CANCELLED, TurnOutcome.CANCELLED),
            (Source.PROTOCOL, TurnOutcome.COMPLETED, TurnOutcome.CANCELLED),
        ):
            await tell(store, turn_ended("t1", "d1", outcome, launch="l1", source=source))
            assert turn(store, "t1").outcome is kept

    play(scene)


def test_a_cancel_marks_the_open_turn_and_is_no_outcome(play: Callable[[Scene], None]) -> None:
    async def scene(store: Store) -> None:
        await start_turn(store)
        await tell(store, draft(CancelRequested(turn="t1"), launch="l1"))
        assert (turn(store, "t1").outcome, turn(store, "t1").cancel_requested) == (None, True)

    play(scene)


def test_a_permission_request_is_kept_with_how_to_answer_it_and_closes_with_its_audit_record(
    play: Callable[[Scene], None],
) -> None:
    async def scene(store: Store) -> None:
        await start_turn(store)
        await tell(store, open_permission("p1", launch="l1", turn="t1"), open_permission("p2", launch="l1"))
        record = permission(store, "p1")
        assert (record.wire_id, record.launch, record.view.turn) == ("wire of p1", "l1", "t1")
        assert [one.view.id for one in store.permissions()] == ["p1", "p2"]
        answered = PermissionAnswered(
            request="p1",
            wire_id="wire of p1",
            decision=Decision.ALLOW,
            by=AnsweredBy.OPERATOR,
            option="yes",
            option_name="Yes",
            reason="safe",
        )
        await tell(store, draft(answered, launch="l1", after_s=3))
        other = msgspec.structs.replace(answered, decision=Decision.DENY, by=AnsweredBy.EXPIRY)
        await tell(store, draft(other, launch="l1", after_s=4))
        view = permission(store, "p1").view
        assert (view.decision, view.by, view.option, view.option_name, view.reason) == (
            Decision.ALLOW,
            AnsweredBy.OPERATOR,
            "yes",
            "Yes",
            "safe",
        )
        assert view.answered_at == START + timedelta(seconds=3)
        assert [one.view.id for one in store.permissions("worker")] == ["p2"]
        assert store.permissions("other") == []
        assert [one.view.id for one in store.permissions(include_closed=True)] == ["p1", "p2"]
        assert [one.view.id for one in store.permissions(include_closed=True, limit=1)] == ["p2"]

    play(scene)


def test_a_request_that_nobody_answered_closes_with_its_launch(play: Callable[[Scene], None]) -> None:
    async def scene(store: Store) -> None:
        await start_turn(store)
        await tell(store, open_permission("p1", launch="l1", turn="t1"))
        await tell(store, draft(LaunchEnded(launch="l1", reason="exit"), launch="l1"))
        view = permission(store, "p1").view
        assert (view.decision, view.by) == (Decision.CANCELLED, AnsweredBy.LAUNCH_END)
        assert store.permissions() == []

    play(scene)


def test_a_seat_that_was_removed_and_made_again_begins_anew_and_its_history_stays(
    play: Callable[[Scene], None],
) -> None:
    async def scene(store: Store) -> None:
        await tell(store, add_seat("first"))
        await start_turn(store)
        await tell(
            store,
            draft(DeliveryStarted(delivery="d1"), launch="l1"),
            turn_ended("t1", "d1", TurnOutcome.LOST, launch="l1", source=Source.CORE),
            draft(SeatRemoved()),
        )
        assert [state.name for state in store.seat_states()] == ["first"]
        assert seat(store).removed
        await tell(store, add_seat("second"))
        await tell(store, add_seat())
        fresh = seat(store)
        assert (fresh.removed, fresh.session, fresh.launch, fresh.turns) == (False, None, None, 0)
        assert [state.name for state in store.seat_states()] == ["first", "second", "worker"]
        await tell(store, turn_ended("t1", "d1", TurnOutcome.COMPLETED, launch="l1"))
        assert seat(store) == fresh
        assert turn(store, "t1").outcome is TurnOutcome.COMPLETED
        await tell(store, queue("d2"))
        assert [record.id for record in store.deliveries("worker", 10)] == ["d1", "d2"]
        assert [prompt.delivery for prompt in seat(store).queue] == ["d2"]

    play(scene)


def test_an_event_of_one_seat_does_not_touch_the_records_of_another(play: Callable[[Scene], None]) -> None:
    async def scene(store: Store) -> None:
        await start_turn(store)
        await tell(store, open_permission("p1", launch="l1"), add_seat("other"))
        answered = PermissionAnswered(
            request="p1", wire_id="w", decision=Decision.DENY, by=AnsweredBy.OPERATOR
        )
        for event in (
            DeliveryStarted(delivery="d1"),
            CancelRequested(turn="t1"),
            answered,
            turn_ended("t1", "d1", TurnOutcome.FAILED, launch="l1").event,
        ):
            await tell(store, draft(event, seat="other"))
        assert delivery(store, "d1").state is DeliveryState.SENT
        assert (turn(store, "t1").outcome, turn(store, "t1").cancel_requested) == (None, False)
        assert [one.view.id for one in store.permissions()] == ["p1"]

    play(scene)


def test_a_state_is_written_once_a_commit_and_only_where_it_changed(throwaway_home: Path) -> None:
    with closing(connect_writer(throwaway_home / "inspan" / "log.db")) as database:
        migrate(database)
        projector = Projector(database, {})

        def rows_written(*drafts: EventDraft) -> int:
            before = database.total_changes
            for position, one in enumerate(drafts, start=1):
                projector.stage(position, one)
            projector.flush()
            projector.keep()
            return database.total_changes - before

        assert rows_written(add_seat(), add_seat("other")) == 2
        assert rows_written(*(chunk(str(number)) for number in range(50))) == 0
        assert rows_written(*(draft(UsageUpdated(used=number)) for number in range(50))) == 1
