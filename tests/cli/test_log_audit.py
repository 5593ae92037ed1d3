import random
from typing import Any

import pytest

from inspan.cli.log_audit import check_events
from support.scripted_http import envelope

LINES = 5


def _log() -> list[dict[str, Any]]:
    says = [
        ("message_chunk", {"role": "agent", "text": f"line {n} of {LINES}\n"}) for n in range(1, LINES + 1)
    ]
    story: list[tuple[str, dict[str, Any]]] = [
        ("seat_added", {}),
        ("delivery_queued", {"delivery": "d_1"}),
        ("delivery_sending", {"delivery": "d_1"}),
        *says,
        ("message_chunk", {"role": "thought", "text": f"line 1 of {LINES}"}),
        ("turn_ended", {"delivery": "d_1", "outcome": "completed"}),
    ]
    events = [
        envelope(place, kind, turn="t_1", **event) for place, (kind, event) in enumerate(story, start=1)
    ]
    events[2]["event"]["turn"] = "t_1"
    return events


def _failed(events: list[dict[str, Any]]) -> list[str]:
    return [
        check.name for check in check_events(list(events), delivery="d_1", lines=LINES) if not check.is_ok
    ]


def _renumber(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**event, "position": place} for place, event in enumerate(events, start=1)]


def test_a_whole_log_passes() -> None:
    assert _failed(_log()) == []


def test_an_empty_log_passes_nothing() -> None:
    assert len(_failed([])) == 4


def test_an_event_that_is_missing_is_found_by_its_place() -> None:
    events = _log()
    del events[random.Random(1).randrange(len(events))]

    assert "every event has its place" in _failed(events)


@pytest.mark.parametrize(
    "order",
    [[0, 1, 2, 3, 4, 6, 7, 8, 9], [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9], [0, 1, 2, 3, 4, 6, 5, 7, 8, 9]],
    ids=["missing", "doubled", "out of order"],
)
def test_a_line_that_is_not_once_and_in_order_is_found(order: list[int]) -> None:
    events = _log()

    assert _failed(_renumber([events[place] for place in order])) == ["every line is there, once, in order"]


def test_a_prompt_that_went_out_twice_is_found() -> None:
    events = _log()

    assert _failed(_renumber([*events[:3], events[2], *events[3:]])) == ["the prompt went out once"]


def test_a_turn_without_an_end_and_one_with_two_are_found() -> None:
    events = _log()
    name = "its turn ended once, as the harness said"

    assert _failed(events[:-1]) == [name]
    assert _failed(_renumber([*events, events[-1]])) == [name]
    events[-1]["event"]["outcome"] = "lost"
    assert _failed(events) == [name]
