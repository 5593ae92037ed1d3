"""An error that a harness tells as if it were an answer ends its turn as what it is, with the rule that says so."""

from __future__ import annotations

import msgspec
import pytest

from inspan.model.diagnosis import TurnTextFailure
from inspan.model.events import DeliveryStarted, TurnEnded
from inspan.model.reports import PromptAnswered
from inspan.model.turn import TurnOutcome
from inspan.seats.decision import Context
from inspan.seats.view import HarnessFacts, explain_seat
from support.seat_scene import Scene

FAILURES = (
    TurnTextFailure(pattern=r"^Error: 429\b", code="limited", title="The limit was reached", remedy="Wait."),
    TurnTextFailure(
        pattern=r"^Error: 401\b",
        code="auth_required",
        title="The key was refused",
        cause="It is wrong.",
        remedy="Correct it.",
    ),
    TurnTextFailure(pattern="^$", code="call_failed", title="It said nothing", remedy="Ask again."),
)


class TellingScene(Scene):
    """A seat whose harness tells errors as answers."""

    def context(self) -> Context:
        return msgspec.structs.replace(super().context(), turn_text_failures=FAILURES)


def end(
    words: str | None,
    outcome: TurnOutcome = TurnOutcome.COMPLETED,
    scene: Scene | None = None,
    *,
    wrote: bool | None = False,
) -> Scene:
    scene = scene or TellingScene().running()
    scene.report(
        PromptAnswered(
            delivery="d-1", outcome=outcome, raw_reason="end_turn", last_words=words, model_wrote=wrote
        )
    )
    return scene


@pytest.mark.requirement("L18")
@pytest.mark.parametrize(
    ("words", "outcome", "code", "rule"),
    [
        ("Error: 429 You exceeded", TurnOutcome.LIMITED, "limited", 0),
        ("Error: 401 no", TurnOutcome.FAILED, "auth_required", 1),
        ("", TurnOutcome.FAILED, "call_failed", 2),
    ],
)
def test_the_turn_ends_as_its_last_words_say_with_the_rule_and_the_harness_s_own_reason(
    words: str, outcome: TurnOutcome, code: str, rule: int
) -> None:
    scene = end(words)
    ended = scene.last(TurnEnded)

    assert (ended.outcome, ended.raw_reason) == (outcome, "end_turn")
    assert ended.error is not None
    assert ended.error.code == code
    assert ended.error.message == (words or "It said nothing.")
    assert ended.error.hint.endswith(FAILURES[rule].remedy)
    [draft] = [draft for draft in scene.log if isinstance(draft.event, TurnEnded)]
    assert draft.rule == f"manifest.turn_text_failures[{rule}]"


def test_the_prompt_was_taken_all_the_same_and_is_not_sent_again() -> None:
    scene = end("Error: 429")

    assert scene.count(DeliveryStarted) == 1
    assert scene.seat.in_flight is None
    assert scene.seat.queue == ()


@pytest.mark.requirement("L18")
@pytest.mark.parametrize(
    "words", ["All done.", "The log says:\nError: 429", " Error: 429", "Error: 4290 lines were read", None]
)
def test_an_answer_that_only_quotes_an_error_is_an_answer(words: str | None) -> None:
    scene = end(words)

    assert scene.last(TurnEnded).outcome is TurnOutcome.COMPLETED
    assert scene.last(TurnEnded).error is None
    assert [draft.rule for draft in scene.log if isinstance(draft.event, TurnEnded)] == ["test.rule"]


@pytest.mark.requirement("L18")
@pytest.mark.parametrize("wrote", [True, None])
def test_words_that_may_be_the_model_s_settle_nothing_and_are_only_doubted(wrote: bool | None) -> None:
    scene = end("Error: 429 is what you asked me to say", wrote=wrote)
    ended = scene.last(TurnEnded)

    assert (ended.outcome, ended.error) == (TurnOutcome.COMPLETED, None)
    assert ended.doubt is not None
    assert ended.doubt.message == "Error: 429 is what you asked me to say"
    [draft] = [draft for draft in scene.log if isinstance(draft.event, TurnEnded)]
    assert draft.rule == "test.rule"
    facts = HarnessFacts(name="Made Up", capabilities=scene.capabilities)
    notes = explain_seat(scene.seat, facts, scene.now, attached=True).notes
    assert any("may be an error, or the model's own: Error: 429" in note for note in notes)


@pytest.mark.requirement("L18")
@pytest.mark.parametrize("wrote", [True, None])
def test_a_turn_that_says_nothing_at_all_is_told_by_no_model(wrote: bool | None) -> None:
    assert end("", wrote=wrote).last(TurnEnded).outcome is TurnOutcome.FAILED


@pytest.mark.parametrize("outcome", [TurnOutcome.CANCELLED, TurnOutcome.REFUSED, TurnOutcome.LIMITED])
def test_a_turn_that_ended_otherwise_keeps_its_outcome(outcome: TurnOutcome) -> None:
    assert end("Error: 401", outcome).last(TurnEnded).outcome is outcome


def test_a_harness_without_such_rules_is_believed() -> None:
    assert end("Error: 429", scene=Scene().running()).last(TurnEnded).outcome is TurnOutcome.COMPLETED
