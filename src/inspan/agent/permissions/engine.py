"""Decides of each call whether it may run: by rules, by the session's mode, and by asking whoever answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from inspan.agent.cancelling import CancelSignal
from inspan.agent.faults import fault_name, is_fault
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
from inspan.agent.tools.contract import Tool
from inspan.agent.values import Location, ToolCall

__all__ = ["PermissionEngine", "Proposal"]

_LOG = logging.getLogger(__name__)
_REPOSITORY = ".git"
_CHANGES_OF_FILES = frozenset({"edit", "delete", "move"})
_SAY = {
    "rule": "A rule denies this call.",
    "plan_mode": "Plan mode permits only calls that change nothing. Say what you would do, and leave it to later.",
    "answer": "The person did not allow this call.",
    "no_responder": "Nobody is there to allow this call.",
    "timeout": "Nobody allowed this call in time.",
    "responder_failed": "The question whether this call is allowed could not be put.",
    "cancelled": "The turn was cancelled before this call was allowed.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A call that wants to run.

    Attributes:
        call: The call; its arguments fit the tool's schema.
        tool: The tool.
        owner: Who registered it.
        session_id: The session.
        workspace: The session's folder, resolved.
        title: The call in a few words.
        locations: The files that it touches.
        subagent: The child agent that calls, empty for the session itself.
    """

    call: ToolCall
    tool: Tool
    owner: str
    session_id: str
    workspace: Path
    title: str
    locations: tuple[Location, ...] = ()
    subagent: str = ""


class PermissionEngine:
    """Judges the calls of one session, and of the child agents in it. It holds no task and no file.

    Args:
        mode: What may be done unasked, at first.
        rules: In their order; of those that match, a `deny` beats an `ask`, which beats an `allow`.
        responder: Whom to ask; None denies what would be asked.
        timeout_s: How long an answer is waited for; then it is a deny.
        record: Takes the one record of each evaluation.
        on_rule: Told of each rule that an answer makes.
    """

    def __init__(
        self,
        *,
        mode: PermissionMode = PermissionMode.DEFAULT,
        rules: Iterable[Rule] = (),
        responder: Responder | None = None,
        timeout_s: float = 600.0,
        record: Callable[[PermissionRecord], None] = lambda _: None,
        on_rule: Callable[[Rule], None] = lambda _: None,
    ) -> None:
        self.mode = mode
        self.responder = responder
        self._rules = list(rules)
        self._timeout_s = timeout_s
        self._record = record
        self._on_rule = on_rule

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules, those of answers last."""
        return tuple(self._rules)

    def add_rule(self, rule: Rule) -> None:
        """Adds a rule; it counts from the next evaluation on."""
        self._rules.append(rule)

    async def evaluate(self, proposal: Proposal, cancel: CancelSignal) -> Decision:
        """Decides of one call, and makes its one record.

        A cancelled wait for an answer is a deny with the reason `cancelled`; if the task itself is cancelled, that is
        recorded and the cancellation goes on.
        """
        effect, rule, reason = self._by_rules_and_mode(proposal)
        principal = ""
        if effect is Effect.ASK:
            try:
                effect, made, reason, principal = await self._ask(proposal, cancel)
            except asyncio.CancelledError:
                self._keep(proposal, _decision(Effect.DENY, "cancelled"), rule, "")
                raise
            rule = made or rule
        decision = _decision(effect, reason)
        self._keep(proposal, decision, rule, principal)
        return decision

    def _by_rules_and_mode(self, proposal: Proposal) -> tuple[Effect, Rule | None, str]:
        tool, call = proposal.tool, proposal.call
        found: dict[Effect, Rule] = {}
        for rule in self._rules:
            if rule.effect not in found and matches(rule, tool.name, call.arguments):
                found[rule.effect] = rule
        if Effect.DENY in found:
            return Effect.DENY, found[Effect.DENY], "rule"
        is_harmless = tool.read_only or tool.session_local
        if self.mode is PermissionMode.PLAN and not is_harmless:
            return Effect.DENY, None, "plan_mode"
        if self.mode is PermissionMode.BYPASS:
            return Effect.ALLOW, None, "mode"
        if Effect.ASK in found:
            return Effect.ASK, found[Effect.ASK], "rule"
        if Effect.ALLOW in found:
            return Effect.ALLOW, found[Effect.ALLOW], "rule"
        if is_harmless:
            return Effect.ALLOW, None, "read_only" if tool.read_only else "session_local"
        if self.mode is PermissionMode.ACCEPT_EDITS and _changes_workspace_files(proposal):
            return Effect.ALLOW, None, "mode"
        return Effect.ASK, None, "mode"

    async def _ask(self, proposal: Proposal, cancel: CancelSignal) -> tuple[Effect, Rule | None, str, str]:
        if cancel.is_set:
            return Effect.DENY, None, "cancelled", ""
        if self.responder is None:
            return Effect.DENY, None, "no_responder", ""
        answer, problem = await self._answer(self.responder, _question(proposal), cancel)
        match answer:
            case Answer.ALLOW_ONCE:
                return Effect.ALLOW, None, "answer", "responder"
            case Answer.DENY_ONCE:
                return Effect.DENY, None, "answer", "responder"
            case Answer.ALLOW_ALWAYS | Answer.DENY_ALWAYS:
                effect = Effect.ALLOW if answer is Answer.ALLOW_ALWAYS else Effect.DENY
                tool, call = proposal.tool, proposal.call
                rule = rule_for_answer(effect, tool.name, tool.kind, call.arguments)
                self._rules.append(rule)
                self._on_rule(rule)
                return effect, rule, "answer", "responder"
            case Answer.CANCELLED:
                return Effect.DENY, None, "cancelled", "responder"
            case None:
                return Effect.DENY, None, problem, ""

    async def _answer(
        self, responder: Responder, question: PermissionQuestion, cancel: CancelSignal
    ) -> tuple[Answer | None, str]:
        """The answer, or why there is none."""

        async def put() -> Answer | None:
            try:
                return Answer(cast(str, await responder(question)))
            except BaseException as error:
                if not is_fault(error):
                    raise
                _LOG.warning("The responder failed: %s.", fault_name(error))
                return None

        asking = asyncio.create_task(put())
        cancelled = asyncio.ensure_future(cancel.wait())
        try:
            await asyncio.wait(
                {asking, cancelled}, timeout=self._timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
            if cancel.is_set:
                return None, "cancelled"
            if not asking.done():
                return None, "timeout"
            if asking.cancelled():
                return None, "responder_failed"
            answer = asking.result()
            return answer, "" if answer is not None else "responder_failed"
        finally:
            asking.cancel()
            cancelled.cancel()

    def _keep(self, proposal: Proposal, decision: Decision, rule: Rule | None, principal: str) -> None:
        self._record(
            PermissionRecord(
                at=datetime.now(UTC),
                session_id=proposal.session_id,
                call_id=proposal.call.id,
                tool=proposal.tool.name,
                owner=proposal.owner,
                mode=self.mode,
                decision=decision,
                rule=rule,
                principal=principal,
                subagent=proposal.subagent,
            )
        )


def _decision(effect: Effect, reason: str) -> Decision:
    is_allowed = effect is Effect.ALLOW
    return Decision(is_allowed=is_allowed, reason=reason, message="" if is_allowed else _SAY[reason])


def _question(proposal: Proposal) -> PermissionQuestion:
    return PermissionQuestion(
        call_id=proposal.call.id,
        session_id=proposal.session_id,
        tool=proposal.tool.name,
        title=proposal.title,
        kind=proposal.tool.kind,
        arguments=proposal.call.arguments,
        locations=proposal.locations,
        subagent=proposal.subagent,
    )


def _changes_workspace_files(proposal: Proposal) -> bool:
    """Whether a call only changes files below the workspace, links followed.

    What is in a repository's own folder does not count: git runs programs that are named or kept there.
    """
    if proposal.tool.kind not in _CHANGES_OF_FILES or not proposal.locations:
        return False
    return all(_is_within(location.path, proposal.workspace) for location in proposal.locations)


def _is_within(path: str, folder: Path) -> bool:
    try:
        place, ground = Path(path).resolve(), folder.resolve()
        if not Path(path).is_absolute() or not place.is_relative_to(ground):
            return False
        return _REPOSITORY not in (part.casefold() for part in place.relative_to(ground).parts)
    except (OSError, RuntimeError, ValueError):
        return False
