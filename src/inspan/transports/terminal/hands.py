"""Hands: everything that a console seat presses, and what it says of it. Its state is durable as a whole.

One thing is done at a time: a prompt is typed, a turn is interrupted, or a dialog is answered. Each write is decided
on from what is seen, leaves by core's outbox, and is checked once more right before it goes out.
"""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import Literal

import msgspec

from inspan.model.console import KeptError
from inspan.model.errors import UsageError
from inspan.model.evidence import Source
from inspan.model.permission import PermissionOption, ToolCall
from inspan.model.reports import (
    PermissionRequested,
    PermissionWithdrawn,
    PromptAccepted,
    PromptAnswered,
    PromptCorrected,
    PromptRendered,
    PromptStarted,
    PromptTakenBack,
    ReportBody,
    Reported,
)
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.typing_recipe import Key, TypingBlock, TypingRecipe
from inspan.transports.machine import Outgoing

from .arbitration import Verdict
from .dialogs import Answering, Dialog, next_keys, read_dialog
from .evaluating import Reading
from .hands_state import (
    FAULT_OUTCOMES,
    FAULTS,
    LEFTOVER_IGNORES,
    OUTCOMES,
    Ended,
    HandsState,
    OpenDialog,
    call_error,
    tell_opened,
)
from .keys import encode_keys
from .posting import after_post, post_text
from .screen import Snapshot
from .typist import TEXT_IGNORES, Act, Ending, Sight, Typed, block_typing, cut_text, take_step

__all__ = ["Hands", "HandsState", "OpenDialog"]

ANSWER_SHOWS_S = 3.0
"""How long a dialog may stand after it was answered before it counts as asked again."""
MARK_SETTLES_S = 0.15
"""How long nothing is pressed after a key that moves the mark: it may be on its way still."""
MOVE_SHOWS_S = 3.0
"""How long the mark may take to come to the answer before it is moved again: a console that is slow has the keys, and
takes both."""
MOVES = 4
"""How often the mark is moved at most for one answer."""


_set = msgspec.structs.replace


class Hands:
    """The hands of one console.

    Args:
        recipe: How prompts are typed; `None` for a console that is only watched.
        state: As it was.

    Attributes:
        state: As it is.
        reports: What is to be said.
        outgoing: What is to be written.
    """

    def __init__(self, recipe: TypingRecipe | None, state: HandsState) -> None:
        self._recipe = recipe
        self.state = state
        self.reports: list[Reported] = []
        self.outgoing: list[Outgoing] = []

    @property
    def recipe(self) -> TypingRecipe:
        """How prompts are typed.

        Raises:
            UsageError: `delivery_unsupported`: nobody said how.
        """
        if self._recipe is None:
            raise UsageError(
                "Nobody said how a prompt is typed into this console.",
                code="delivery_unsupported",
                hint="Type it yourself with `inspan attach SEAT`.",
            )
        return self._recipe

    @property
    def can_type(self) -> bool:
        """Whether prompts can be typed."""
        return self._recipe is not None

    @property
    def is_acting(self) -> bool:
        """Whether something is on its way, so that the screen is to be looked at often."""
        answering = None if self.state.dialog is None else self.state.dialog.answering
        return self.state.typed is not None or answering is not None or bool(self.state.leftover)

    def begin(self, typed: Typed) -> None:
        """Takes a prompt; the looks that follow type it, or take it back where something stands in the way.

        Raises:
            UsageError: `delivery_unsupported`.
        """
        _ = self.recipe
        self.state = _set(self.state, typed=typed)

    def type_at_once(self, sight: Sight, snapshot: Snapshot) -> None:
        """Types the beginning of a prompt that was just taken, if nothing stands in the way: with its intent, in one go.

        Nothing is said here: what stands in the way is for the next look to tell.
        """
        typed = self.state.typed
        if typed is None or not typed.text or typed.is_posted:
            return
        with contextlib.suppress(UsageError):
            act = take_step(cut_text(typed, self.recipe, snapshot), sight, self.recipe)
            if act.text:
                self._act(act, typed, sight.verdict, snapshot)

    def interrupt(self) -> None:
        """Remembers that the prompt is to be interrupted.

        One that was not submitted yet never will be; its text stays in the input line.
        """
        typed = self.state.typed
        if typed is not None and not typed.is_cancelled:
            keys = self.recipe.interrupt
            self.state = _set(self.state, typed=_set(typed, is_cancelled=True, keys=keys))

    def press(self, keys: tuple[Key, ...], snapshot: Snapshot) -> None:
        """Presses an operator's keys: what stands in the input line is no longer ours alone."""
        self.note_person()
        self.outgoing.append(Outgoing(data=encode_keys(keys, snapshot), purpose="keys"))

    def answer(self, wire_id: str, option: str | None, now: datetime) -> bool:
        """Begins to answer the dialog that is open; whether it is that one."""
        opened = self.state.dialog
        if opened is None or opened.wire_id != wire_id or option is None:
            return False
        self.state = _set(self.state, dialog=_set(opened, answering=Answering(option=option, at=now)))
        return True

    def look(self, sight: Sight, reading: Reading, snapshot: Snapshot) -> None:
        """Does the next thing, if what is seen allows it."""
        self._follow_dialog(sight, reading, snapshot)
        typed = self.state.typed
        if typed is None:
            self._clear_leftover(sight, snapshot)
            return
        if typed.is_posted and typed.text:
            if not typed.is_writing:
                block, outgoing = post_text(typed, sight)
                if block or typed.is_cancelled:
                    self._give_back(typed.delivery, block or "typing")
                else:
                    self.state = _set(self.state, typed=_set(typed, is_writing=True))
                    self.outgoing.append(outgoing)
            return
        if typed.text:
            try:
                typed = cut_text(typed, self.recipe, snapshot)
            except UsageError as error:
                self._refuse(typed.delivery, error)
                return
        act = take_step(typed, sight, self.recipe)
        if act.has_opened and not self._let_go_of_dialog(typed):
            return
        self._act(act, typed, sight.verdict, snapshot)

    def note_person(self) -> None:
        """Takes note that a person typed: what stands in the input line is no longer ours alone."""
        typed = self.state.typed
        if self.state.leftover:
            self.state = _set(self.state, leftover="")
        if typed is not None and typed.has_text and typed.phase != "working" and not typed.is_touched:
            self.state = _set(self.state, typed=_set(typed, is_touched=True))

    def witness(self, mark: str, source: Source, rule: str, *, turn: str = "") -> None:
        """Takes note that the harness itself said that it works on a prompt; says so where it is the typed one.

        It may come before it is known that the keys went out which submitted it.
        """
        typed = self.state.typed
        if typed is None or typed.is_witnessed or typed.mark != mark or typed.pieces:
            return
        if typed.text and not (typed.is_posted and typed.is_writing):
            return
        known = _set(typed, phase="working", is_witnessed=True, turn=turn, idle_since=None)
        self.state = _set(self.state, typed=known, ended=None)
        self._report(PromptStarted(delivery=typed.delivery), source, rule)

    def correct(
        self,
        ending: Ending,
        error: KeptError | None,
        source: Source,
        rule: str,
        *,
        turn: str,
        tells_prompts: bool,
    ) -> None:
        """Takes note that the harness itself said how a turn ended; says so where it had seemed to end otherwise.

        Args:
            ending: How it ended.
            error: What it ended with.
            source: Who says so.
            rule: By which rule.
            turn: The turn's id, where it was told.
            tells_prompts: The harness tells each prompt that it works on, so that its turns are known apart.
        """
        typed, ended = self.state.typed, self.state.ended
        if typed is not None and typed.is_witnessed and (not turn or not typed.turn or turn == typed.turn):
            return  # its end is taken from what is believed, in the next look
        if (
            ended is None
            or (tells_prompts and not ended.is_witnessed)
            or (turn and ended.turn and turn != ended.turn)
        ):
            return
        self.state = _set(self.state, ended=None)
        outcome = OUTCOMES["limited" if error is not None and error.code == "limited" else ending]
        if outcome is not ended.outcome:
            self._report(
                PromptCorrected(
                    delivery=ended.delivery, outcome=outcome, raw_reason=rule, error=call_error(error)
                ),
                source,
                rule,
            )

    def note_written(
        self,
        purpose: str,
        data: bytes,
        *,
        result: Literal["done", "withheld"],
        block: TypingBlock,
        now: datetime,
    ) -> None:
        """Takes note of what became of a write of `data`."""
        typed, opened = self.state.typed, self.state.dialog
        if purpose == "answer" and opened is not None and opened.answering is not None:
            answering = _set(opened.answering, is_writing=False, at=now)
            if result == "withheld":
                answering = _set(answering, phase="moving")
            self.state = _set(self.state, dialog=_set(opened, answering=answering))
            return
        if purpose == "clear" and self.state.leftover:
            self.state = _set(self.state, leftover="stands" if result == "withheld" else "")
            return
        if typed is not None and purpose == "inbox":
            if block in ("", "command", "typing"):
                self.state = _set(self.state, typed=after_post(typed, block, now))
            else:
                self._give_back(typed.delivery, block)
            if not block:
                self._report(PromptAccepted(delivery=typed.delivery), Source.PROTOCOL, "inbox.taken")
            return
        if typed is None or purpose not in ("type", "submit", "interrupt"):
            return
        if result == "done":
            phase = "submitted" if purpose == "submit" and typed.phase == "typed" else typed.phase
            at = now if purpose != "interrupt" else typed.at
            self.state = _set(
                self.state, typed=_set(typed, is_writing=False, has_text=True, phase=phase, at=at)
            )
        elif purpose == "submit":
            self.state = _set(self.state, typed=_set(typed, is_writing=False, tries=typed.tries - 1, at=now))
        elif purpose == "interrupt":
            # What it was to interrupt may be over; what is seen next says so.
            self.state = _set(self.state, typed=_set(typed, is_writing=False, keys=()))
        elif typed.has_text:
            # A part of it stands in the input line; the rest follows once nothing is in the way.
            self.state = _set(self.state, typed=_set(typed, is_writing=False, pieces=(data, *typed.pieces)))
        else:
            self._give_back(typed.delivery, block or "not_ready")

    def check(self, purpose: str, sight: Sight, reading: Reading, snapshot: Snapshot) -> TypingBlock:
        """Why a write may not go out now, though it was decided on a moment ago; empty where it may."""
        typed, opened = self.state.typed, self.state.dialog
        match purpose:
            case "type" | "submit" | "inbox" if typed is not None:
                own = TEXT_IGNORES if typed.has_text else frozenset[TypingBlock]({"typing"})
                return block_typing(sight, ignores=own | set(typed.ignores))
            case "interrupt":
                if sight.block in ("foreground", "person_typing"):
                    return sight.block
                return "" if sight.verdict.activity == "running" else "needs_input"
            case "keys":
                return "foreground" if sight.block == "foreground" else ""
            case "clear" if self.state.leftover:
                return block_typing(sight, ignores=LEFTOVER_IGNORES)
            case "answer" if opened is not None:
                if sight.block in ("foreground", "person_typing"):
                    return sight.block
                match = None if sight.is_half_drawn else reading.screen
                dialog = None if match is None else read_dialog(match, snapshot)
                is_same = dialog is not None and dialog.fingerprint == opened.fingerprint
                return "" if is_same and sight.verdict.activity == "needs_input" else "needs_input"
            case _:
                return "typing"

    def end(self) -> None:
        """Says that the harness is gone: what was not submitted was certainly not sent."""
        typed = self.state.typed
        if typed is not None and typed.phase in ("text", "typed"):
            self.state = _set(self.state, typed=None)

    def _refuse(self, delivery: str, error: UsageError) -> None:
        """Says that a prompt cannot be typed into this console as it is."""
        self.state = _set(self.state, typed=None)
        call = CallError(code=error.code, message=error.message, hint=error.hint)
        self._report(
            PromptAnswered(
                delivery=delivery,
                outcome=TurnOutcome.REFUSED,
                raw_reason=error.code,
                error=call,
                declined=True,
            ),
            Source.CORE,
            "typing.refused",
        )

    def _act(self, act: Act, before: Typed, verdict: Verdict, snapshot: Snapshot) -> None:
        typed, delivery = act.typed, before.delivery
        if act.is_rendered:
            self._report(PromptRendered(delivery=delivery), verdict.source, verdict.rule)
        if act.text:
            self.outgoing.append(Outgoing(data=act.text, purpose="type", delivery=delivery))
        if act.keys:
            data = encode_keys(act.keys, snapshot)
            purpose = "submit" if act.press == "submit" else "interrupt"
            self.outgoing.append(
                Outgoing(data=data, purpose=purpose, delivery=delivery if purpose == "submit" else None)
            )
        if act.taken_back:
            self._take_back(delivery, act.taken_back)
        if act.fault:
            code, message = FAULTS[act.fault]
            error = CallError(code=code, message=message, hint="`inspan attach SEAT` shows the input line.")
            self._report(
                PromptAnswered(
                    delivery=delivery,
                    outcome=FAULT_OUTCOMES.get(act.fault, TurnOutcome.FAILED),
                    raw_reason=act.fault,
                    error=error,
                ),
                Source.CORE,
                f"typing.{act.fault}",
            )
        if act.ending is not None:
            self._note_end(before, OUTCOMES[act.ending], verdict)
            self._report(
                PromptAnswered(
                    delivery=delivery,
                    outcome=OUTCOMES[act.ending],
                    raw_reason=verdict.rule,
                    error=call_error(act.error),
                ),
                verdict.source,
                verdict.rule,
            )
        if typed is not self.state.typed:
            self.state = _set(self.state, typed=typed)
        if act.fault in ("unsubmitted", "ignored") and before.has_text and not before.is_touched:
            self.state = _set(self.state, leftover="stands")
        if act.ending == "cancelled" and self.recipe.returns_text:
            self.state = _set(self.state, leftover="stands")

    def _clear_leftover(self, sight: Sight, snapshot: Snapshot) -> None:
        """Empties an input line that holds nothing but our own text, where somebody said how."""
        if self.state.leftover != "stands" or self._recipe is None:
            return
        if not self._recipe.clear or sight.composer == "empty":
            self.state = _set(self.state, leftover="")
        elif not block_typing(sight, ignores=LEFTOVER_IGNORES):
            self.state = _set(self.state, leftover="clearing")
            data = encode_keys(self._recipe.clear, snapshot)
            self.outgoing.append(Outgoing(data=data, purpose="clear"))

    def _note_end(self, typed: Typed, outcome: TurnOutcome, verdict: Verdict) -> None:
        told = verdict.source is Source.HOOK and typed.is_witnessed and verdict.is_turn_over
        ended = Ended(
            delivery=typed.delivery, outcome=outcome, is_witnessed=typed.is_witnessed, turn=typed.turn
        )
        self.state = _set(self.state, ended=None if told else ended)

    def _follow_dialog(self, sight: Sight, reading: Reading, snapshot: Snapshot) -> None:
        opened = self.state.dialog
        is_up = sight.verdict.activity == "needs_input" and reading.screen is not None
        if reading.is_ignored or sight.is_half_drawn or (opened is None and not is_up):
            return
        match = reading.screen
        dialog = read_dialog(match, snapshot) if is_up and match is not None else None
        if opened is not None and (dialog is None or dialog.fingerprint != opened.fingerprint):
            self._report(
                PermissionWithdrawn(wire_id=opened.wire_id), sight.verdict.source, sight.verdict.rule
            )
            opened = None
            self.state = _set(self.state, dialog=None)
        if dialog is None:
            return
        if opened is None:
            self._open(dialog, sight, kind=str(sight.verdict.kind or ""))
        else:
            self._answer(dialog, opened, sight, reading, snapshot)

    def _open(self, dialog: Dialog, sight: Sight, *, kind: str) -> None:
        number = self.state.dialogs + 1
        wire_id = f"screen-{number}-{dialog.fingerprint}"
        options: tuple[PermissionOption, ...] = tuple(row.option for row in dialog.rows)
        self.state = _set(
            self.state,
            dialogs=number,
            dialog=OpenDialog(wire_id=wire_id, fingerprint=dialog.fingerprint),
        )
        locations = [dialog.path] if dialog.path else None
        call = ToolCall(id=wire_id, title=dialog.subject, kind=kind, locations=locations)
        self._report(
            PermissionRequested(wire_id=wire_id, tool_call=call, options=options), Source.SCREEN, dialog.rule
        )

    def _answer(
        self, dialog: Dialog, opened: OpenDialog, sight: Sight, reading: Reading, snapshot: Snapshot
    ) -> None:
        answering = opened.answering
        answers = None if reading.screen is None else reading.screen.rule.answers
        if answering is None or answers is None or answering.is_writing:
            return
        waited_s = (sight.now - answering.at).total_seconds()
        if answering.phase == "taken":
            if waited_s >= ANSWER_SHOWS_S:
                # It stands there still, so it was not answered: it is asked again, as a new request.
                self._reopen(dialog, opened, sight)
            return
        if sight.block in ("foreground", "person_typing") or (answering.moves and waited_s < MARK_SETTLES_S):
            return
        found = next_keys(dialog, answers, answering.option)
        keys, is_taken = found or ((), False)
        if not is_taken and answering.moves and waited_s < MOVE_SHOWS_S:
            return
        if found is None or (not is_taken and answering.moves >= MOVES):
            self._reopen(dialog, opened, sight)
            return
        moved = _set(
            answering,
            is_writing=True,
            at=sight.now,
            phase="taken" if is_taken else "moving",
            moves=answering.moves + (0 if is_taken else 1),
        )
        self.state = _set(self.state, dialog=_set(opened, answering=moved))
        self.outgoing.append(
            Outgoing(data=encode_keys(keys, snapshot), purpose="answer", request=opened.wire_id)
        )

    def _reopen(self, dialog: Dialog, opened: OpenDialog, sight: Sight) -> None:
        self._report(PermissionWithdrawn(wire_id=opened.wire_id), Source.SCREEN, "dialog.not_answered")
        self._open(dialog, sight, kind=str(sight.verdict.kind or ""))

    def _let_go_of_dialog(self, typed: Typed) -> bool:
        """Whether a command's turn may end before its dialog, which is reported anew, apart from that turn."""
        opened = self.state.dialog
        if opened is not None and opened.answering is not None:
            return False
        self.state = _set(self.state, dialog=None)
        self._report(tell_opened(typed.delivery), Source.SCREEN, "typing.command_opened_dialog")
        return True

    def _give_back(self, delivery: str, block: TypingBlock) -> None:
        """Has a prompt of which nothing went out tried again later."""
        self._take_back(delivery, block)
        self.state = _set(self.state, typed=None)

    def _take_back(self, delivery: str, block: TypingBlock) -> None:
        self._report(PromptTakenBack(delivery=delivery, why=block), Source.CORE, "typing.held")

    def _report(self, body: ReportBody, source: Source, rule: str) -> None:
        self.reports.append(Reported(body=body, source=source, rule=rule))
