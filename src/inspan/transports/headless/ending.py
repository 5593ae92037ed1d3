"""Ending: how a run's turn ended, by its result record, or by its exit where none came."""

from __future__ import annotations

import re

import msgspec

from inspan.model.evidence import Source
from inspan.model.headless import ExitCode
from inspan.model.records import EndRule
from inspan.model.reports import PromptAnswered, SessionFailed
from inspan.model.session import ResumeOutcome
from inspan.model.turn import CallError, TurnOutcome
from inspan.transports.machine import HarnessEnd
from inspan.transports.records.ending import has_written, last_words, read_end
from inspan.transports.records.paths import Place

from .saying import Saying

__all__ = ["end_by_exit", "end_by_record"]

_TOLD = ("chosen", "environment", "command")
"""Sources by which a harness is told its session, so that it need not name it."""


def end_by_record(saying: Saying, rule: EndRule, place: Place) -> None:
    """Ends the turn as the result record says; a second one changes nothing."""
    if saying.state.phase != "prompted":
        return
    outcome, error, reason = read_end(rule, place, saying.state.error)
    if outcome is TurnOutcome.COMPLETED:
        _confirm_session(saying)
    _answer(saying, outcome, reason, error, Source.PROTOCOL, "ends")


def end_by_exit(saying: Saying, end: HarnessEnd) -> None:
    """Ends a turn that no result record ended, as far as the exit says how.

    A process that a signal ended said nothing, unless it was stopped to cancel its turn; what that means is
    core's to say.
    """
    state, settings = saying.state, saying.settings.headless
    if settings.stderr_session and (found := re.search(settings.stderr_session, end.stderr_tail)):
        saying.name_session(found[1], "stderr_session")
    if state.phase != "prompted":
        return
    how = f"exit {end.exit_code}" if end.signal is None else f"signal {end.signal}"
    if state.is_cancelled:
        _answer(saying, TurnOutcome.CANCELLED, how, None, Source.PROCESS, "exit")
    elif end.signal is not None or end.exit_code is None:
        return
    elif state.error is not None:
        error = _by_exit_code(state.error, saying, end.exit_code)
        _answer(saying, TurnOutcome.FAILED, how, error, Source.PROCESS, "exit")
    elif end.exit_code:
        error = state.line_error or _error_of_exit(end, end.exit_code)
        error = _by_exit_code(error, saying, end.exit_code)
        _answer(saying, TurnOutcome.FAILED, how, error, Source.PROCESS, "exit")
    elif state.is_started or state.line_error is not None:
        # A line that looks like an error is one only where the exit status agrees: here it is the answer.
        saying.witness("text")
        _confirm_session(saying)
        _answer(saying, TurnOutcome.COMPLETED, how, None, Source.PROCESS, "exit")
    else:
        said = last_words(end.stderr_tail)
        text = "The harness exited with status 0, having done nothing" + (f": {said}" if said else ".")
        hint = "Run its program by hand once: it may want something that it only says on a terminal."
        error = CallError(code="harness_exited", message=text, hint=hint)
        _answer(saying, TurnOutcome.FAILED, how, error, Source.PROCESS, "exit")


def _answer(
    saying: Saying, outcome: TurnOutcome, reason: str, error: CallError | None, source: Source, rule: str
) -> None:
    state = saying.state
    if state.delivery is None:
        return
    if state.is_cancelled and outcome is TurnOutcome.FAILED:
        # An error that comes of being stopped is the harness's way to say that it was.
        outcome, error = TurnOutcome.CANCELLED, None
    is_unopened = saying.settings.attempt != "fresh" and state.session is None and error is not None
    state.phase = "ended"
    saying.is_changed = True
    saying.report(
        PromptAnswered(
            delivery=state.delivery,
            outcome=outcome,
            raw_reason=reason,
            error=error,
            declined=is_unopened and not state.is_started,
            usage=state.usage,
            last_words=state.last_words if saying.settings.reads_last_words else None,
            model_wrote=has_written(state.usage, saying.settings.headless.records),
        ),
        rule,
        source=source,
    )
    if is_unopened and error is not None:
        saying.report(SessionFailed(outcome=ResumeOutcome.FAILED, error=error), rule, source=source)


def _confirm_session(saying: Saying) -> None:
    """A session whose id core chose is there once its turn is, where the harness named none itself."""
    settings = saying.settings
    is_told = settings.headless.chooses_session or settings.session_source.kind in _TOLD
    if is_told and settings.session_id is not None:
        saying.name_session(settings.session_id, "chosen_session")


def _by_exit_code(error: CallError, saying: Saying, exit_code: int) -> CallError:
    known: ExitCode | None = next(
        (one for one in saying.settings.headless.exit_codes if one.status == exit_code), None
    )
    if known is None or error.code not in ("call_failed", "harness_exited"):
        return error
    return msgspec.structs.replace(error, code=known.code, hint=f"{known.title}: {known.remedy}")


def _error_of_exit(end: HarnessEnd, exit_code: int) -> CallError:
    said = last_words(end.stderr_tail)
    text = f"The harness exited with status {exit_code}" + (f": {said}" if said else ".")
    return CallError(code="harness_exited", message=text, hint="Send the prompt again once that is mended.")
