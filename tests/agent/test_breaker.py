"""When a repeated call is let run, warned of, and stopped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.breaker import Breaker, Changes, Repetition

FIRST, SECOND, TOO_OFTEN = Repetition.FIRST, Repetition.SECOND, Repetition.TOO_OFTEN


def test_the_second_identical_call_is_warned_of_and_the_third_is_stopped() -> None:
    breaker = Breaker()
    seen = [breaker.see("run", {"a": 1, "b": 2}, changes=True) for _ in range(4)]
    assert seen == [FIRST, SECOND, TOO_OFTEN, TOO_OFTEN]


def test_the_order_of_arguments_makes_no_other_call_and_a_value_does() -> None:
    breaker = Breaker()
    breaker.see("run", {"a": 1, "b": [1, {"c": 2}]}, changes=False)
    assert breaker.see("run", {"b": [1, {"c": 2}], "a": 1}, changes=False) is SECOND
    assert breaker.see("run", {"b": [1, {"c": 3}], "a": 1}, changes=False) is FIRST
    assert breaker.see("walk", {"a": 1, "b": [1, {"c": 2}]}, changes=False) is FIRST


def test_tests_that_are_run_after_each_of_many_edits_are_no_loop() -> None:
    breaker = Breaker()
    for number in range(10):
        assert breaker.see("edit", {"line": number}, changes=True) is FIRST
        assert breaker.see("run", {"command": "pytest"}, changes=True) is FIRST


def test_two_calls_that_take_turns_are_a_loop_as_well() -> None:
    breaker = Breaker()
    seen = [breaker.see(tool, {}, changes=True) for tool in ("on", "off") * 4]
    assert seen[-3:] == [TOO_OFTEN] * 3


def test_what_changes_nothing_does_not_begin_the_count_again() -> None:
    breaker = Breaker()
    for number in range(2):
        breaker.see("read", {"path": "a"}, changes=False)
        breaker.see("read", {"path": str(number)}, changes=False)
    assert breaker.see("read", {"path": "a"}, changes=False) is TOO_OFTEN


def test_what_a_child_agent_changed_makes_its_parents_counts_begin_again_but_not_the_same_change_twice() -> (
    None
):
    changes = Changes()
    parent = Breaker(changes)
    for number in range(4):
        assert parent.see("run", {"command": "pytest"}, changes=True) is FIRST
        Breaker(changes).see("edit", {"line": number}, changes=True)
    seen: list[Repetition] = []
    for _ in range(4):
        seen.append(parent.see("run", {"command": "pytest"}, changes=True))
        Breaker(changes).see("edit", {"line": 0}, changes=True)
    assert seen == [FIRST, SECOND, TOO_OFTEN, TOO_OFTEN]
    changes.begin_turn()
    assert Breaker(changes).see("edit", {"line": 0}, changes=True) is FIRST
    assert parent.see("run", {"command": "pytest"}, changes=True) is FIRST


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=60))
def test_no_sequence_of_a_few_calls_goes_on_running_for_ever(calls: list[tuple[str, bool]]) -> None:
    breaker = Breaker()
    run = sum(breaker.see(tool, {}, changes=changes) is not TOO_OFTEN for tool, changes in calls)
    assert run <= 3 * 3 * 2
