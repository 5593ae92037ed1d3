"""Hook claims: what an event of a harness's hook system says, read by its manifest. Pure.

An event of another session, of a nested run, of a helper, or one that was taken before, says nothing. What is left is
a claim of activity, a witness of a prompt, the end of a turn, or the session that is open.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

import msgspec

from inspan.model.evidence import Source
from inspan.model.hooks import HookEvent, HookReport, HookSession, HookSettings, HookTurnEnd
from inspan.transports.records.paths import Place, as_token

from .claims import Claim, KeptError

__all__ = ["NOT_HEARD", "HookSays", "HookState", "fingerprint_text", "read_hook"]

REMEMBERED = 64
"""How many events are remembered by their id, so that one that comes twice counts once."""
ERROR_CHARACTERS = 500
ID_CHARACTERS = 256

Dropped = Literal["", "seen_before", "unknown_event", "helper", "other_session"]


class HookState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is durable of a launch's hooks.

    Attributes:
        claim: The newest claim of activity.
        order: The place of the event that made it.
        count: How many events were taken.
        seen: The newest of them, by their ids.
        identity: What tells the session that is open from others: its id, or its file.
        session: Its id.
        depth: How far the relay stood from the launch's process when that session began.
    """

    claim: Claim | None = None
    order: int = -1
    count: int = 0
    seen: tuple[str, ...] = ()
    identity: str = ""
    session: str = ""
    depth: int | None = None


NOT_HEARD = HookState()


class HookSays(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from one event.

    Attributes:
        state: The state from then on.
        dropped: Why it says nothing; empty where it was taken.
        rule: How it was read.
        at: When it was said.
        claim: What it claims, where that is newer than what was claimed before.
        prompt: The fingerprint of the prompt that the harness works on.
        turn: The turn's id.
        ends: How a turn ended.
        error: With what.
        session: The id of the session that is open.
    """

    state: HookState
    dropped: Dropped = ""
    rule: str = ""
    at: datetime = datetime.fromtimestamp(0, UTC)
    claim: Claim | None = None
    prompt: str = ""
    turn: str = ""
    ends: Literal["completed", "failed"] | None = None
    error: KeptError | None = None
    session: str = ""


_set = msgspec.structs.replace


def read_hook(
    settings: HookSettings,
    state: HookState,
    report: HookReport,
    *,
    workspace: str,
    expected: str,
    now: datetime,
) -> HookSays:
    """What an event says.

    Args:
        settings: How its harness's events are read.
        state: What was heard before.
        report: The event.
        workspace: The seat's folder.
        expected: The id of the session that the launch was told to open; empty where it was told none.
        now: The time; an event is never of later.
    """
    if report.id in state.seen:
        return HookSays(state=state, dropped="seen_before")
    place = Place(report.payload)
    event = next((one for one in settings.events if _fits(one, report.event, place)), None)
    if event is None:
        return HookSays(state=state, dropped="unknown_event")
    if settings.ignore_when and any(
        _matches(place, {path: values}) for path, values in settings.ignore_when.items()
    ):
        return HookSays(state=state, dropped="helper")
    rules = settings.session
    session, identity = _whose(rules, place, report)
    begins = _begins(event, state, report, place, rules, identity, session, workspace, expected)
    if begins is None:
        return HookSays(state=state, dropped="other_session")
    at = min(now, datetime.fromtimestamp(report.at_ns / 1e9, UTC)) if report.at_ns > 0 else now
    rule = f"hook.{event.name}"
    if event.when:
        rule += "." + ".".join(as_token(place.find(path)) for path in event.when)[:60]
    error = _error(event.ends, place, rule)
    count = state.count + 1
    claim = None
    activity = "idle" if event.ends is not None else event.says
    if activity and report.order > state.order:
        claim = Claim(
            source=Source.HOOK,
            rule=rule,
            activity=activity,
            at=at,
            sequence=count,
            kind=event.kind if activity == "needs_input" else None,
            error=error,
            is_turn_over=event.ends is not None,
        )
    after = _set(
        state,
        count=count,
        seen=(*state.seen[-(REMEMBERED - 1) :], report.id),
        claim=claim or state.claim,
        order=report.order if claim is not None else state.order,
    )
    if begins:
        after = _set(after, identity=identity, session=session or after.session, depth=report.depth)
    return HookSays(
        state=after,
        rule=rule,
        at=at,
        claim=claim,
        prompt=fingerprint_text(place.text(event.prompt))
        if event.prompt and place.text(event.prompt)
        else "",
        turn=place.text(rules.turn)[:ID_CHARACTERS],
        ends=None if event.ends is None else event.ends.outcome,
        error=error,
        session=session if begins else "",
    )


def fingerprint_text(text: str) -> str:
    """What a prompt is known by again: its words, whatever became of line ends and of blanks at its ends."""
    plain = "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    return hashlib.sha256(plain.strip().encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _fits(event: HookEvent, name: str, place: Place) -> bool:
    return event.name == name and all(_matches(place, {path: values}) for path, values in event.when.items())


def _matches(place: Place, wanted: Mapping[str, tuple[str, ...]]) -> bool:
    return all(
        place.find(path) not in (None, "") and (not values or as_token(place.find(path)) in values)
        for path, values in wanted.items()
    )


def _whose(rules: HookSession, place: Place, report: HookReport) -> tuple[str, str]:
    """The session's id, and what tells it from others; both may be empty."""
    if rules.file:
        file = place.text(rules.file)[:4096]
        return report.session[:ID_CHARACTERS], file
    session = place.text(rules.id)[:ID_CHARACTERS]
    return session, session


def _begins(
    event: HookEvent,
    state: HookState,
    report: HookReport,
    place: Place,
    rules: HookSession,
    identity: str,
    session: str,
    workspace: str,
    expected: str,
) -> bool | None:
    """Whether the event makes its session the one that is open; `None` says that it is of another session.

    A run that is nested in the seat has its environment, and so its token. It stands further from the launch's own
    process, is of another session, and begins when one is open already.
    """
    is_deeper = state.depth is not None and report.depth is not None and report.depth > state.depth
    if is_deeper:
        return None
    if not identity:
        return False
    if identity == state.identity:
        return bool(session) and not state.session  # its file names it by now
    if not state.identity:
        if not event.begins_session:
            return None if expected and session and session != expected else False
        return _is_in(place.text(rules.folder), workspace) or None
    is_change = event.begins_session and event.changes_session
    return True if is_change and _is_in(place.text(rules.folder), workspace) else None


def _is_in(folder: str, workspace: str) -> bool:
    return not folder or os.path.realpath(folder) == os.path.realpath(workspace)


def _error(ends: HookTurnEnd | None, place: Place, rule: str) -> KeptError | None:
    if ends is None or ends.outcome == "completed":
        return None
    word, message = place.text(ends.error), place.text(ends.message)
    said = f"{word}\n{message}"
    code = "call_failed"
    if ends.limited and re.search(ends.limited, said):
        code = "limited"
    elif ends.auth_required and re.search(ends.auth_required, said):
        code = "auth_required"
    return KeptError(code=code, message=(message or word)[:ERROR_CHARACTERS], rule=rule)
