"""Evaluating rules: what a screen says by the rules of its harness, and why.

The rules are compiled once. A look stops at the first rule that matches in each of its questions; asked to
explain, it tries every rule and keeps the text that each one looked at. A rule that takes too long is left out
from then on, and every later reading names it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import msgspec

from inspan.model.errors import ManifestError
from inspan.model.screen_rules import Region, ScreenRule, ScreenRules
from inspan.plugin.screen_patterns import GROUPS, compile_pattern

from .region import cut_region, shown_rows
from .screen import Snapshot

__all__ = ["RULE_BUDGET_S", "Match", "Reading", "RuleBook", "Trial"]

RULE_BUDGET_S = 0.05
"""How much processor time one rule may take for one look; a hundred times what an ordinary one needs."""
MAX_EVIDENCE = 300
MAX_CAPTURE = 500


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that matched.

    Attributes:
        rule: The rule.
        evidence: The row that its first pattern matched, or the title; shortened; a secret in logs.
        message: What its capture found as the harness's words.
        resets: What its capture found as the time when a limit ends.
    """

    rule: ScreenRule
    evidence: str
    message: str = ""
    resets: str = ""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that was tried, for `explain`.

    Attributes:
        rule: Its name.
        report: What it would say.
        priority: Its priority.
        has_matched: Whether it matched.
        why: What decided it.
        region: The text that it looked at; `None` where the screen has no such region.
    """

    rule: str
    report: str
    priority: int
    has_matched: bool
    why: str
    region: str | None


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What one look says.

    Attributes:
        screen: The first rule about an activity that looked at the text.
        title: The first that looked at title or progress alone.
        error: The first rule about an error or a limit.
        ready: The first rule that says that a prompt may be typed.
        is_ignored: This view says nothing of the session: what was believed before still stands.
        suspended: Names of rules that took too long and are not tried any more.
        trials: Every rule that was tried, first to last; only in an explanation.
    """

    screen: Match | None = None
    title: Match | None = None
    error: Match | None = None
    ready: Match | None = None
    is_ignored: bool = False
    suspended: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()


class _Compiled(msgspec.Struct, frozen=True, kw_only=True):
    rule: ScreenRule
    question: str
    last_match: re.Pattern[str] | None
    all: tuple[re.Pattern[str], ...]
    any: tuple[re.Pattern[str], ...]
    none: tuple[re.Pattern[str], ...]
    title_any: tuple[re.Pattern[str], ...]
    title_none: tuple[re.Pattern[str], ...]
    capture: re.Pattern[str] | None


class RuleBook:
    """The rules of one console, ready to be asked. Used by one owner at a time."""

    def __init__(
        self,
        rules: ScreenRules,
        *,
        budget_s: float = RULE_BUDGET_S,
        processor_time: Callable[[], float] = time.thread_time,
    ) -> None:
        """Compile the rules; one that takes more than `budget_s` of the processor for a look is not tried any more.

        Raises:
            ManifestError: A pattern cannot be used; the message names its rule.
        """
        ordered = sorted(rules.rules, key=lambda rule: -rule.priority)
        self._rules = tuple(_compile(rule) for rule in ordered)
        self._budget_s = budget_s
        self._processor_time = processor_time
        self._suspended: set[str] = set()

    def read(self, snapshot: Snapshot) -> Reading:
        """What a screen says. Asks nothing of the clock but how long a rule takes."""
        return self._read(snapshot, None)

    def explain(self, snapshot: Snapshot) -> Reading:
        """The same reading, with every rule that there is and the text that it looked at."""
        return self._read(snapshot, [])

    def _read(self, snapshot: Snapshot, trials: list[Trial] | None) -> Reading:
        look = _Look(snapshot)
        found: dict[str, Match] = {}
        begun = self._processor_time()
        for compiled in self._rules:
            rule = compiled.rule
            if rule.name in self._suspended or (trials is None and compiled.question in found):
                continue
            match, why = look.try_rule(compiled)
            ended = self._processor_time()
            begun, passed_s = ended, ended - begun
            if passed_s > self._budget_s:
                self._suspended.add(rule.name)
                match, why = None, "it took too long, and is not tried any more"
            if match is not None:
                found.setdefault(compiled.question, match)
            if trials is not None:
                trials.append(
                    Trial(
                        rule=rule.name,
                        report=rule.report,
                        priority=rule.priority,
                        has_matched=match is not None,
                        why=why,
                        region=look.region(rule.region) if rule.reads_screen else look.title,
                    )
                )
        screen = found.get("screen")
        is_ignored = screen is not None and screen.rule.report == "ignore"
        return Reading(
            screen=None if is_ignored else screen,
            title=found.get("title"),
            error=found.get("error"),
            ready=found.get("ready"),
            is_ignored=is_ignored,
            suspended=tuple(sorted(self._suspended)),
            trials=tuple(trials or ()),
        )


class _Look:
    """One look at one screen: every region is cut once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.title = snapshot.title or ""
        self._snapshot = snapshot
        self._rows = shown_rows(snapshot)
        self._regions: dict[Region, str | None] = {}

    def region(self, region: Region) -> str | None:
        if region not in self._regions:
            self._regions[region] = cut_region(region, self._rows, self._snapshot.cursor.row)
        return self._regions[region]

    def try_rule(self, compiled: _Compiled) -> tuple[Match | None, str]:
        rule = compiled.rule
        why = self._miss_beside(compiled)
        if why:
            return None, why
        if not rule.reads_screen:
            return self._matched(compiled, None, self.title), "title and progress are as it wants"
        text = self.region(rule.region)
        if text is None:
            return None, "the screen has no such region"
        if compiled.last_match is not None:
            text = _from_last(compiled.last_match, text)
            if text is None:
                return None, f"no row matches `last_match` {compiled.last_match.pattern!r}"
        first: re.Match[str] | None = None
        for pattern in compiled.all:
            found = pattern.search(text)
            if found is None:
                return None, f"`all` {pattern.pattern!r} is not there"
            first = first or found
        if compiled.any:
            found = next((hit for pattern in compiled.any if (hit := pattern.search(text))), None)
            if found is None:
                return None, "nothing of `any` is there"
            first = first or found
        for pattern in compiled.none:
            if pattern.search(text):
                return None, f"`none` {pattern.pattern!r} is there"
        return self._matched(compiled, text, _row_of(text, first)), "all that it wants is there"

    def _miss_beside(self, compiled: _Compiled) -> str:
        """Why a rule does not match for what stands beside the text; empty where that is as it wants."""
        rule, snapshot = compiled.rule, self._snapshot
        if rule.is_alternate is not None and snapshot.is_alternate is not rule.is_alternate:
            return "the other screen is shown"
        if rule.cursor_past is not None and snapshot.cursor.column <= rule.cursor_past:
            return f"the cursor stands at column {snapshot.cursor.column}, where nothing is typed"
        if rule.progress_any and (
            snapshot.progress is None or snapshot.progress.state not in rule.progress_any
        ):
            return "the progress is another"
        if compiled.title_any and not any(pattern.search(self.title) for pattern in compiled.title_any):
            return "the title matches nothing of `title_any`"
        if compiled.title_none and not self.title:
            return "there is no title yet"
        for pattern in compiled.title_none:
            if pattern.search(self.title):
                return f"the title matches `title_none` {pattern.pattern!r}"
        return ""

    def _matched(self, compiled: _Compiled, text: str | None, evidence: str) -> Match:
        found = compiled.capture.search(text) if compiled.capture is not None and text is not None else None
        groups = found.groupdict() if found is not None else {}
        return Match(
            rule=compiled.rule,
            evidence=evidence.strip()[:MAX_EVIDENCE],
            message=" ".join((groups.get("message") or "").split())[:MAX_CAPTURE],
            resets=" ".join((groups.get("resets") or "").split())[:MAX_CAPTURE],
        )


def _compile(rule: ScreenRule) -> _Compiled:
    try:
        if rule.region.anchor:
            compile_pattern(rule.region.anchor)
        compiled = _Compiled(
            rule=rule,
            question=_question(rule),
            last_match=compile_pattern(rule.last_match) if rule.last_match else None,
            all=tuple(map(compile_pattern, rule.all)),
            any=tuple(map(compile_pattern, rule.any)),
            none=tuple(map(compile_pattern, rule.none)),
            title_any=tuple(map(compile_pattern, rule.title_any)),
            title_none=tuple(map(compile_pattern, rule.title_none)),
            capture=compile_pattern(rule.capture) if rule.capture else None,
        )
    except ManifestError as error:
        raise ManifestError(f"rule `{rule.name}`: {error.message}", hint=error.hint) from error
    if compiled.capture is not None and not set(compiled.capture.groupindex) & GROUPS:
        raise ManifestError(
            f"rule `{rule.name}`: its capture has no group that is kept",
            hint="name a group `message` or `resets`",
        )
    return compiled


def _question(rule: ScreenRule) -> str:
    """Which of a reading's questions a rule answers; each one has one answer."""
    match rule.report:
        case "error" | "limit":
            return "error"
        case "ready":
            return "ready"
        case "ignore":
            return "screen"
        case "running" | "idle" | "needs_input":
            return "screen" if rule.reads_screen else "title"


def _from_last(pattern: re.Pattern[str], text: str) -> str | None:
    rows = text.split("\n")
    at = next((at for at in range(len(rows) - 1, -1, -1) if pattern.search(rows[at])), None)
    return None if at is None else "\n".join(rows[at:])


def _row_of(text: str, found: re.Match[str] | None) -> str:
    if found is None:
        return text.split("\n", 1)[0]
    last = max(found.start(), found.end() - 1)
    begin = text.rfind("\n", 0, last) + 1
    end = text.find("\n", last)
    return text[begin : end if end >= 0 else len(text)]
