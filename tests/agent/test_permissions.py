"""What the permission engine decides, in which order, and what it records of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.cancelling import CancelSource
from inspan.agent.permissions.engine import PermissionEngine, Proposal
from inspan.agent.permissions.matching import matches, rule_for_answer
from inspan.agent.permissions.values import (
    Answer,
    Decision,
    Effect,
    PermissionMode,
    PermissionQuestion,
    PermissionRecord,
    Responder,
    Rule,
)
from inspan.agent.values import JsonObject, Location, ToolCall
from support.agent_ground import make_tool, temporary_folder

WORKSPACE = Path("/place/space")


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield Path(path).resolve()


def _proposal(
    name: str = "note",
    arguments: JsonObject | None = None,
    *,
    workspace: Path = WORKSPACE,
    paths: Sequence[str] = (),
    subagent: str = "",
    **fields: Any,
) -> Proposal:
    return Proposal(
        call=ToolCall(id="c1", tool=name, arguments=arguments or {}),
        tool=make_tool(name, **fields),
        owner="embedder",
        session_id="s_1",
        workspace=workspace,
        title=name,
        locations=tuple(Location(path=path) for path in paths),
        subagent=subagent,
    )


def _answering(answer: Answer, asked: list[PermissionQuestion] | None = None) -> Responder:
    async def responder(question: PermissionQuestion) -> Answer:
        if asked is not None:
            asked.append(question)
        return answer

    return responder


def _decide(engine: PermissionEngine, *proposals: Proposal) -> list[Decision]:
    async def story() -> list[Decision]:
        signal = CancelSource().signal
        return [await engine.evaluate(proposal, signal) for proposal in proposals]

    return asyncio.run(story())


def _rule(effect: Effect, tool: str = "*", **arguments: str) -> Rule:
    return Rule(effect=effect, tool=tool, arguments=arguments)


@pytest.mark.requirement("RD9")
@pytest.mark.parametrize(
    ("mode", "fields", "expected"),
    [
        ("default", {"read_only": True}, (True, "read_only")),
        ("default", {"session_local": True}, (True, "session_local")),
        ("default", {}, (True, "answer")),
        ("plan", {"read_only": True}, (True, "read_only")),
        ("plan", {"session_local": True}, (True, "session_local")),
        ("plan", {}, (False, "plan_mode")),
        ("accept_edits", {"kind": "edit", "paths": ["/place/space/a"]}, (True, "mode")),
        ("accept_edits", {"kind": "edit", "paths": ["/place/space/a", "/etc/b"]}, (True, "answer")),
        ("accept_edits", {"kind": "edit", "paths": ["/place/spaceship/a"]}, (True, "answer")),
        ("accept_edits", {"kind": "edit", "paths": ["/place/space/../b"]}, (True, "answer")),
        ("accept_edits", {"kind": "edit", "paths": ["a"]}, (True, "answer")),
        ("accept_edits", {"kind": "edit", "paths": ["/place/space/.git/hooks/pre-commit"]}, (True, "answer")),
        ("accept_edits", {"kind": "edit", "paths": ["/place/space/sub/.GIT/config"]}, (True, "answer")),
        ("accept_edits", {"kind": "edit", "paths": ["/place/space/.github/a"]}, (True, "mode")),
        ("accept_edits", {"kind": "edit"}, (True, "answer")),
        ("accept_edits", {"kind": "execute", "paths": ["/place/space/a"]}, (True, "answer")),
        ("bypass", {}, (True, "mode")),
    ],
)
def test_a_mode_says_what_runs_unasked(mode: str, fields: dict[str, Any], expected: tuple[bool, str]) -> None:
    engine = PermissionEngine(mode=PermissionMode(mode), responder=_answering(Answer.ALLOW_ONCE))
    (decision,) = _decide(engine, _proposal(**fields))
    assert (decision.is_allowed, decision.reason) == expected


def test_edits_through_a_link_that_leads_out_of_the_workspace_are_asked_about(folder: Path) -> None:
    (folder / "work").mkdir()
    (folder / "elsewhere").mkdir()
    (folder / "work" / "way").symlink_to(folder / "elsewhere")
    engine = PermissionEngine(mode=PermissionMode.ACCEPT_EDITS)
    inside = _proposal(kind="edit", workspace=folder / "work", paths=[str(folder / "work" / "a")])
    outside = _proposal(kind="edit", workspace=folder / "work", paths=[str(folder / "work" / "way" / "a")])
    assert [one.reason for one in _decide(engine, inside, outside)] == ["mode", "no_responder"]


@pytest.mark.requirement("RD9")
@pytest.mark.parametrize("mode", list(PermissionMode))
@pytest.mark.parametrize("read_only", [True, False])
def test_a_rule_that_denies_beats_every_mode_and_every_other_rule(
    mode: PermissionMode, read_only: bool
) -> None:
    rules = [_rule(Effect.ALLOW), _rule(Effect.ASK), _rule(Effect.DENY, "no*")]
    engine = PermissionEngine(mode=mode, rules=rules, responder=_answering(Answer.ALLOW_ALWAYS))
    (decision,) = _decide(engine, _proposal("note", read_only=read_only))
    assert (decision.is_allowed, decision.reason) == (False, "rule")


@pytest.mark.requirement("RD9")
def test_a_rule_that_asks_beats_one_that_allows_even_for_what_only_reads() -> None:
    asked: list[PermissionQuestion] = []
    rules = [_rule(Effect.ALLOW), _rule(Effect.ASK)]
    engine = PermissionEngine(rules=rules, responder=_answering(Answer.DENY_ONCE, asked))
    (decision,) = _decide(engine, _proposal(read_only=True))
    assert (decision.is_allowed, decision.reason, len(asked)) == (False, "answer", 1)


def test_a_rule_that_allows_does_not_open_plan_mode() -> None:
    engine = PermissionEngine(mode=PermissionMode.PLAN, rules=[_rule(Effect.ALLOW)])
    assert [one.reason for one in _decide(engine, _proposal())] == ["plan_mode"]


@pytest.mark.parametrize(
    ("pattern", "arguments", "is_matched"),
    [
        ({}, {}, True),
        ({"path": "/a/*"}, {"path": "/a/b/c"}, True),
        ({"path": "/a/*"}, {"path": "/b"}, False),
        ({"path": "*"}, {}, False),
        ({"path": "/a", "mode": "r"}, {"path": "/a", "mode": "w"}, False),
        ({"count": "3"}, {"count": 3}, True),
        ({"options": '{"deep":true}'}, {"options": {"deep": True}}, True),
        ({"command": "git *"}, {"command": "git log\n--all"}, True),
        ({"path": "/A"}, {"path": "/a"}, False),
    ],
)
def test_a_rule_matches_by_all_of_its_patterns_whole(
    pattern: dict[str, str], arguments: dict[str, Any], is_matched: bool
) -> None:
    assert matches(_rule(Effect.DENY, "no?e", **pattern), "note", arguments) is is_matched


@given(st.dictionaries(st.text(max_size=5), st.text(), max_size=3), st.text(max_size=20))
def test_an_answer_to_a_command_speaks_of_that_command_alone(arguments: dict[str, str], other: str) -> None:
    rule = rule_for_answer(Effect.ALLOW, "run[1]", "execute", arguments)
    assert matches(rule, "run[1]", arguments)
    assert not matches(rule, "run1", arguments)
    for name in arguments:
        assert matches(rule, "run[1]", {**arguments, name: other}) is (arguments[name] == other)


@pytest.mark.requirement("RD9")
def test_an_answer_for_always_makes_a_rule_and_nobody_is_asked_again() -> None:
    asked: list[PermissionQuestion] = []
    rules: list[Rule] = []
    engine = PermissionEngine(responder=_answering(Answer.ALLOW_ALWAYS, asked), on_rule=rules.append)
    run: dict[str, Any] = {"kind": "execute"}
    first, same, other = (
        _proposal("run", {"command": "ls"}, **run),
        _proposal("run", {"command": "ls"}, **run),
        _proposal("run", {"command": "ls; rm -r /"}, **run),
    )
    assert [one.reason for one in _decide(engine, first, same, other)] == ["answer", "rule", "answer"]
    assert len(asked) == 2
    assert [rule.source for rule in rules] == ["answer", "answer"]


def test_a_no_for_always_denies_from_then_on() -> None:
    engine = PermissionEngine(responder=_answering(Answer.DENY_ALWAYS))
    decisions = _decide(engine, _proposal(), _proposal())
    assert [(one.is_allowed, one.reason) for one in decisions] == [(False, "answer"), (False, "rule")]


@pytest.mark.requirement("RD9")
def test_nobody_to_ask_a_responder_that_raises_and_one_that_answers_nonsense_are_denials() -> None:
    async def raises(question: PermissionQuestion) -> Answer:
        raise RuntimeError(question.session_id)

    async def nonsense(question: PermissionQuestion) -> Answer:
        return "perhaps"  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    async def gives_up(question: PermissionQuestion) -> Answer:
        raise asyncio.CancelledError

    found = {
        name: _decide(PermissionEngine(responder=responder), _proposal())[0]
        for name, responder in {
            "none": None,
            "raises": raises,
            "nonsense": nonsense,
            "cancelled": gives_up,
        }.items()
    }
    assert not any(decision.is_allowed for decision in found.values())
    assert all(decision.message for decision in found.values())
    assert {name: decision.reason for name, decision in found.items()} == {
        "none": "no_responder",
        "raises": "responder_failed",
        "nonsense": "responder_failed",
        "cancelled": "responder_failed",
    }


@pytest.mark.requirement("RD9")
def test_an_answer_that_does_not_come_in_time_is_a_denial_and_the_responder_is_cancelled() -> None:
    cancelled: list[bool] = []

    async def never(question: PermissionQuestion) -> Answer:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)
        return Answer.ALLOW_ALWAYS

    async def story() -> Decision:
        engine = PermissionEngine(responder=never, timeout_s=0.01)
        decision = await engine.evaluate(_proposal(), CancelSource().signal)
        for _ in range(3):
            await asyncio.sleep(0)
        return decision

    decision = asyncio.run(story())
    assert (decision.is_allowed, decision.reason) == (False, "timeout")
    assert cancelled == [True]


@pytest.mark.requirement("RD9")
def test_every_evaluation_leaves_exactly_one_record() -> None:
    records: list[PermissionRecord] = []
    asking = asyncio.Event()

    async def never(question: PermissionQuestion) -> Answer:
        asking.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def story() -> None:
        engine = PermissionEngine(responder=never, record=records.append)
        source = CancelSource()
        await engine.evaluate(_proposal(read_only=True, subagent="scout"), source.signal)
        waiting = asyncio.create_task(engine.evaluate(_proposal(), source.signal))
        await asking.wait()
        source.cancel()
        assert (await waiting).reason == "cancelled"
        asking.clear()
        fresh = CancelSource()
        killed = asyncio.create_task(engine.evaluate(_proposal(), fresh.signal))
        await asking.wait()
        killed.cancel()
        with pytest.raises(asyncio.CancelledError):
            await killed

    asyncio.run(story())
    assert [record.decision.reason for record in records] == ["read_only", "cancelled", "cancelled"]
    assert [record.subagent for record in records] == ["scout", "", ""]
    assert {record.owner for record in records} == {"embedder"}


_EFFECTS = st.lists(st.sampled_from(list(Effect)), max_size=6)


@pytest.mark.requirement("RD9")
@given(_EFFECTS, st.sampled_from(list(PermissionMode)), st.booleans(), st.booleans())
def test_no_order_of_rules_changes_what_is_decided(
    effects: list[Effect], mode: PermissionMode, read_only: bool, is_reversed: bool
) -> None:
    rules = [_rule(effect) for effect in (reversed(effects) if is_reversed else effects)]
    engine = PermissionEngine(mode=mode, rules=rules, responder=_answering(Answer.DENY_ONCE))
    (decision,) = _decide(engine, _proposal(read_only=read_only))
    if Effect.DENY in effects:
        expected = (False, "rule")
    elif mode is PermissionMode.PLAN and not read_only:
        expected = (False, "plan_mode")
    elif mode is PermissionMode.BYPASS:
        expected = (True, "mode")
    elif Effect.ASK in effects:
        expected = (False, "answer")
    elif Effect.ALLOW in effects:
        expected = (True, "rule")
    elif read_only:
        expected = (True, "read_only")
    else:
        expected = (False, "answer")
    assert (decision.is_allowed, decision.reason) == expected
