"""Prompts for a console, on paper: held while something stands in the way, and never longer than that."""

from __future__ import annotations

import msgspec
import pytest

from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.errors import UsageError
from inspan.model.events import (
    DeliveryHeld,
    DeliveryQueued,
    DeliveryRefused,
    DeliverySending,
    DeliveryUnknown,
    TurnEnded,
)
from inspan.model.evidence import Source
from inspan.model.reports import PromptAnswered, PromptRendered, PromptTakenBack, ReportBody, Reported
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.typing_recipe import TypingBlock
from inspan.seats.decision import Context
from inspan.seats.inputs import (
    CancelTurn,
    ConsoleFree,
    HolderUp,
    LaunchPlanned,
    ProcessExited,
    QueuePrompt,
    StartSeat,
    TransportReported,
    WriteEnded,
)
from support.seat_scene import Scene


class ConsoleScene(Scene):
    """A seat on paper that is driven through its console."""

    blocks: tuple[TypingBlock, ...] = ()

    def context(self) -> Context:
        return msgspec.structs.replace(
            super().context(), is_watched=True, can_type=True, typing_blocks=self.blocks
        )

    def see(self, body: ReportBody, source: Source = Source.SCREEN) -> None:
        reported = Reported(body=body, source=source, rule="a.rule")
        self.give(TransportReported(launch=self.launch, reported=reported))

    def begin(self) -> None:
        self.give(StartSeat())
        self.give(
            LaunchPlanned(
                launch=self.launch,
                nonce="n",
                directory="/d",
                program="/bin/x",
                arguments=(),
                transport="terminal",
            )
        )
        self.give(HolderUp(launch=self.launch, pid=10, holder_pid=9))


def test_a_prompt_waits_for_the_console_and_is_sent_once_it_is_free() -> None:
    scene = ConsoleScene()
    scene.begin()
    scene.blocks = ("draft",)
    scene.send()
    assert scene.seat.in_flight is None
    scene.give(ConsoleFree(launch="another"))
    scene.give(ConsoleFree(launch=scene.launch))
    assert scene.seat.in_flight is None
    scene.blocks = ()
    scene.give(ConsoleFree(launch="another"))
    assert scene.seat.in_flight is None
    events = scene.give(ConsoleFree(launch=scene.launch))
    assert [type(event) for event in events] == [DeliverySending]


def test_a_prompt_that_was_taken_back_is_first_again_and_held_no_longer_than_what_held_it() -> None:
    scene = ConsoleScene()
    scene.begin()
    scene.send("d-1")
    scene.send("d-2")
    scene.blocks = ("needs_input",)
    scene.see(PromptTakenBack(delivery="d-1", why="needs_input"), Source.CORE)
    assert [(p.delivery, p.held) for p in scene.seat.queue] == [
        ("d-1", HeldReason.NEEDS_INPUT),
        ("d-2", None),
    ]
    assert scene.seat.turns == 0
    scene.blocks = ()
    scene.give(ConsoleFree(launch=scene.launch))
    assert scene.seat.in_flight is not None
    assert scene.seat.in_flight.delivery == "d-1"


def test_what_a_console_held_is_held_by_its_end_once_it_has_ended() -> None:
    scene = ConsoleScene()
    scene.begin()
    scene.send()
    scene.blocks = ("needs_input",)
    scene.see(PromptTakenBack(delivery="d-1", why="needs_input"), Source.CORE)
    events = scene.give(ProcessExited(launch=scene.launch, exit_code=1))
    held = [event for event in events if isinstance(event, DeliveryHeld)]
    assert [event.why for event in held] == [HeldReason.HARNESS_EXITED]
    assert scene.seat.queue[0].held is HeldReason.HARNESS_EXITED


@pytest.mark.requirement("L8")
@pytest.mark.parametrize("way", ["taken back", "refused", "the harness ends"])
def test_a_cancelled_prompt_of_which_certainly_nothing_was_sent_ends_and_does_not_wait_for_another_try(
    way: str,
) -> None:
    scene = ConsoleScene()
    scene.begin()
    scene.send("d-1")
    scene.send("d-2")
    scene.give(CancelTurn())
    scene.blocks = ("needs_input",)
    match way:
        case "taken back":
            scene.see(PromptTakenBack(delivery="d-1", why="needs_input"), Source.CORE)
        case "refused":
            scene.give(WriteEnded(launch=scene.launch, delivery="d-1", result="clean", purpose="submit"))
        case _:
            scene.give(ProcessExited(launch=scene.launch, exit_code=1))
    assert scene.seat.in_flight is None
    assert [prompt.delivery for prompt in scene.seat.queue] == ["d-2"]
    assert scene.seat.last_turn is not None
    assert scene.seat.last_turn.outcome is TurnOutcome.CANCELLED
    (refused,) = [draft.event for draft in scene.log if isinstance(draft.event, DeliveryRefused)]
    assert refused.delivery == "d-1"


def test_typed_text_is_not_sent_and_submitted_text_is_unknown_when_the_harness_ends() -> None:
    scene = ConsoleScene()
    scene.begin()
    scene.send()
    scene.give(WriteEnded(launch=scene.launch, delivery="d-1", result="done", purpose="type"))
    assert scene.seat.in_flight is not None
    assert scene.seat.in_flight.state is DeliveryState.SENDING
    events = scene.give(ProcessExited(launch=scene.launch, exit_code=1))
    assert any(isinstance(event, DeliveryHeld) for event in events)

    scene = ConsoleScene()
    scene.begin()
    scene.send()
    scene.give(WriteEnded(launch=scene.launch, delivery="d-1", result="done", purpose="submit"))
    events = scene.give(ProcessExited(launch=scene.launch, exit_code=1))
    assert any(isinstance(event, DeliveryUnknown) for event in events)


@pytest.mark.parametrize("source", [Source.SCREEN, Source.TITLE, Source.PROGRAM_STATUS])
def test_an_end_that_was_only_seen_starts_nothing_for_certain(source: Source) -> None:
    scene = ConsoleScene()
    scene.begin()
    scene.send()
    scene.give(WriteEnded(launch=scene.launch, delivery="d-1", result="done", purpose="submit"))
    scene.see(PromptRendered(delivery="d-1"), source)
    scene.see(PromptAnswered(delivery="d-1", outcome=TurnOutcome.COMPLETED, raw_reason="idle"), source)
    told = [type(draft.event).__name__ for draft in scene.log]
    assert "DeliveryStarted" not in told
    assert told[-2:] == ["DeliveryRendered", "TurnEnded"]


def test_a_submission_of_which_nobody_can_say_what_became_is_unknown_and_its_turn_lost() -> None:
    scene = ConsoleScene()
    scene.begin()
    scene.send()
    scene.give(WriteEnded(launch=scene.launch, delivery="d-1", result="done", purpose="submit"))
    error = CallError(code="typing_touched", message="A person typed.")
    scene.see(
        PromptAnswered(delivery="d-1", outcome=TurnOutcome.LOST, raw_reason="unclear", error=error),
        Source.CORE,
    )
    told = [draft.event for draft in scene.log[-2:]]
    assert isinstance(told[0], DeliveryUnknown)
    assert isinstance(told[1], TurnEnded)


@pytest.mark.requirement("DEC3")
@pytest.mark.parametrize(
    ("block", "is_sent"),
    [("needs_input", True), ("activity_unknown", True), ("draft", False), ("foreground", False)],
)
def test_an_override_minds_neither_questions_nor_doubt_but_drafts_and_other_programs(
    block: TypingBlock, is_sent: bool
) -> None:
    scene = ConsoleScene()
    scene.begin()
    scene.blocks = (block,)
    events = scene.give(QueuePrompt(delivery="d-1", text="go on", override="I know what it asks"))
    assert isinstance(events[0], DeliveryQueued)
    assert events[0].override == "I know what it asks"
    assert any(isinstance(event, DeliverySending) for event in events) is is_sent


@pytest.mark.requirement("L21")
def test_a_prompt_that_could_press_a_key_is_refused_before_it_is_queued() -> None:
    scene = ConsoleScene()
    with pytest.raises(UsageError) as refused:
        scene.send(text="a\x1b[201~b")
    assert refused.value.code == "message_has_controls"
    assert scene.seat.queue == ()
