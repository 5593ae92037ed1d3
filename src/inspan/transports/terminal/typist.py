"""The typist: one prompt on its way through a console, a step a look. Pure: the time and the sight are arguments.

Nothing is typed blindly: each write is decided on what is seen at that moment, and the text and the keys that
submit it are writes of their own. What was typed and not submitted was certainly not sent. What was submitted is
`rendered` once the input line is empty again or work is seen, which confirms nothing; only a witness that carries
the text starts a turn for certain.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from inspan.model.console import KeptError
from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind
from inspan.model.typing_recipe import Key, TypingBlock, TypingRecipe

from .arbitration import Verdict
from .composer import ComposerState
from .message import begins_command, check_command, encode_message
from .screen import Snapshot

__all__ = ["TEXT_IGNORES", "Act", "Ending", "Sight", "Typed", "block_typing", "cut_text", "take_step"]

SWALLOWED_S = 5.0
"""How long text that was typed may take to show up in the input line."""
IGNORED_S = 10.0
"""How long submitted text may stand in the input line before it is said that its keys were ignored."""
FIRST_WORK_S = 6.0
"""How long a console may stand idle after the submission before its turn counts as one that was too short to be seen:
on a busy machine some take seconds to begin, and redraw meanwhile."""
DIALOG_NOTED_S = 1.0
"""How often it is noted that a dialog keeps a submitted prompt from being judged."""
TAKEN_WITHIN_S = 30.0
"""How long a cancelled prompt that lies in an inbox is waited for, so that its turn is interrupted if it begins: one
harness was seen to need ten seconds."""
COMMAND_OPENED_S = 2.0
"""How long a dialog must stand after a command of the console for it to be what the command opened."""
INTERRUPT_AGAIN_S = 2.0
"""How long work may go on after the keys that interrupt it before they are pressed again: a console may show work
that it does not yet take them for."""
INTERRUPT_TIMES = 3
"""How often they are pressed at most."""
IDLE_HOLDS_S = 0.3
"""How long a console must be seen idle for a turn to be over, where only its screen says so."""

TEXT_IGNORES: frozenset[TypingBlock] = frozenset({"draft", "typing", "not_ready"})
"""What does not stand in the way of the rest of a text, or of its submission: our own text is the draft."""

Ending = Literal["completed", "failed", "limited", "cancelled"]


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What is seen at one moment.

    Attributes:
        now: The time.
        verdict: What is believed.
        composer: The input line.
        blocks: Why nothing may be typed, all of it, the strongest first; empty where it may.
        is_half_drawn: What is shown is in the middle of a frame, so that a dialog may be there in part.
    """

    now: datetime
    verdict: Verdict
    composer: ComposerState
    blocks: tuple[TypingBlock, ...] = ()
    is_half_drawn: bool = False

    @property
    def block(self) -> TypingBlock:
        """The strongest reason why nothing may be typed; empty where it may."""
        return self.blocks[0] if self.blocks else ""


class Typed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a prompt is. Everything of it is durable.

    Attributes:
        delivery: The delivery.
        phase: `text` while it is typed, `typed`, `submitted`, `working` once work was seen.
        at: When the phase began, or its newest write ended.
        text: The prompt, until it is cut into pieces.
        pieces: What is still to be typed.
        is_writing: A write is on its way.
        has_text: Something of it was typed.
        ignores: What the operator said not to mind.
        tries: How often it was submitted.
        error_before: The error that stood on the screen before it was submitted.
        is_posted: It goes into the harness's inbox; no key is pressed for it.
        is_command: It is a command of the console, which may open a dialog at once: it is submitted one time only.
        was_asked: A dialog was up already when it was submitted, which its operator said not to mind.
        asked_since: Since when a dialog has been up after it was submitted.
        is_rendered: It was said that it is seen.
        idle_since: Since when the console is seen idle.
        is_touched: A person pressed keys while it stood in the input line, which is no longer ours alone.
        is_cancelled: It is to be interrupted.
        keys: The keys that are still to be pressed to interrupt it.
        pressed_at: When the newest of them was.
        interrupts: How often all of them were pressed before.
        mark: What its text is known by, where the harness tells it again.
        is_witnessed: The harness itself said that it works on this text.
        turn: The harness's own id of its turn, where it told one.
    """

    delivery: str
    at: datetime
    phase: Literal["text", "typed", "submitted", "working"] = "text"
    text: str = ""
    pieces: tuple[bytes, ...] = ()
    is_writing: bool = False
    has_text: bool = False
    ignores: tuple[TypingBlock, ...] = ()
    tries: int = 0
    error_before: KeptError | None = None
    is_posted: bool = False
    is_command: bool = False
    was_asked: bool = False
    asked_since: datetime | None = None
    is_rendered: bool = False
    idle_since: datetime | None = None
    is_touched: bool = False
    is_cancelled: bool = False
    keys: tuple[Key, ...] = ()
    pressed_at: datetime | None = None
    interrupts: int = 0
    mark: str = ""
    is_witnessed: bool = False
    turn: str = ""


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from a look.

    Attributes:
        typed: How far it is now; `None` where it is over.
        text: Bytes of the text to write.
        keys: Keys to press, and what for.
        press: What the keys are for.
        is_rendered: It is to be said that the prompt is seen.
        ending: How its turn ended, where it did.
        error: What it ended with.
        has_opened: It was a command of the console, and what it did is to open the dialog that is up.
        fault: What went wrong before anything was submitted, or since nothing was taken.
        taken_back: Why nothing of it was typed; it is to be tried again.
    """

    typed: Typed | None
    text: bytes = b""
    keys: tuple[Key, ...] = ()
    press: Literal["submit", "interrupt"] = "submit"
    is_rendered: bool = False
    ending: Ending | None = None
    error: KeptError | None = None
    has_opened: bool = False
    fault: Literal["", "swallowed", "ignored", "unsubmitted", "touched", "unclear", "covered", "untaken"] = ""
    taken_back: TypingBlock = ""


_set = msgspec.structs.replace


def block_typing(sight: Sight, *, ignores: frozenset[TypingBlock] = frozenset()) -> TypingBlock:
    """Why nothing may be typed, less what does not count here. Another program in front always counts."""
    for block in sight.blocks:
        if block not in ignores or block == "foreground":
            return block
    return ""


def cut_text(typed: Typed, recipe: TypingRecipe, snapshot: Snapshot) -> Typed:
    """A prompt as the pieces that type it.

    Raises:
        UsageError: It cannot be typed into this console as it is.
    """
    is_command = begins_command(typed.text, recipe.commands)
    if "command" not in typed.ignores:
        check_command(typed.text, recipe.commands)
    pieces = encode_message(typed.text, recipe, snapshot)
    return _set(typed, text="", pieces=pieces, is_command=is_command)


def take_step(typed: Typed, sight: Sight, recipe: TypingRecipe) -> Act:
    """What follows from one look. At most one write follows from each."""
    if typed.is_writing:
        return Act(typed=typed)
    if typed.phase in ("text", "typed"):
        if typed.is_cancelled:
            return Act(typed=None, fault="unsubmitted")
        if typed.is_touched:
            return Act(typed=None, fault="touched")
    match typed.phase:
        case "text":
            return _type(typed, sight, recipe)
        case "typed":
            return _submit(typed, sight, recipe)
        case "submitted":
            return _await_work(typed, sight, recipe)
        case "working":
            return _await_end(typed, sight, recipe)


def _type(typed: Typed, sight: Sight, recipe: TypingRecipe) -> Act:
    if not typed.pieces:
        return Act(typed=_set(typed, phase="typed", at=sight.now))
    own = TEXT_IGNORES if typed.has_text else frozenset[TypingBlock]({"typing"})
    block = block_typing(sight, ignores=own | set(typed.ignores))
    if block and not typed.has_text:
        return Act(typed=None, taken_back=block)
    if block:
        return Act(typed=typed)
    if typed.has_text and _since(typed.at, sight) < recipe.chunk_delay_s:
        return Act(typed=typed)
    piece, rest = typed.pieces[0], typed.pieces[1:]
    return Act(typed=_set(typed, pieces=rest, is_writing=True), text=piece)


def _submit(typed: Typed, sight: Sight, recipe: TypingRecipe) -> Act:
    if _since(typed.at, sight) < recipe.submit_delay_s:
        return Act(typed=typed)
    if block_typing(sight, ignores=TEXT_IGNORES | set(typed.ignores)):
        return Act(typed=typed)
    if sight.composer == "empty":
        if _since(typed.at, sight) < SWALLOWED_S:
            return Act(typed=typed)
        return Act(typed=None, fault="swallowed")
    error = typed.error_before if typed.tries else sight.verdict.error
    was_asked = sight.verdict.activity == "needs_input"
    pressed = _set(typed, is_writing=True, tries=typed.tries + 1, error_before=error, was_asked=was_asked)
    return Act(typed=pressed, keys=recipe.submit)


def _await_work(typed: Typed, sight: Sight, recipe: TypingRecipe) -> Act:
    verdict = sight.verdict
    if verdict.activity == "running":
        return _rendered(_set(typed, phase="working", idle_since=None), typed)
    if typed.is_posted:
        return _await_taking(typed, sight)
    if verdict.activity == "needs_input":
        return _await_answer(typed, sight)
    if typed.asked_since is not None:
        typed = _set(typed, asked_since=None)
    if typed.is_command and sight.composer == "elsewhere" and _since(typed.at, sight) >= IGNORED_S:
        # Whatever it opened covers the input line, and no rule knows it: nobody can say when that is over.
        return Act(typed=None, fault="covered")
    if verdict.activity == "unknown":
        typed = _set(typed, idle_since=None) if typed.idle_since is not None else typed
        # That it left the input line is seen; what became of it, nobody can say.
        return _rendered(typed, typed) if sight.composer == "empty" else Act(typed=typed)
    if _is_told(typed, verdict) and verdict.is_turn_over and verdict.at is not None and verdict.at > typed.at:
        if not _is_named(typed, verdict):
            return Act(typed=_set(typed, phase="working", idle_since=sight.now))
        return _end(typed, sight)
    waited_s = _since(typed.at, sight)
    if sight.composer == "empty":
        if typed.idle_since is None:
            typed = _set(typed, idle_since=sight.now)
        idle_s = _since(typed.idle_since or sight.now, sight)
        if _new_error(typed, verdict) is not None:
            return _end(typed, sight)
        if typed.is_touched:
            # It may have been submitted, or removed by a person.
            return Act(typed=typed) if idle_s < FIRST_WORK_S else Act(typed=None, fault="unclear")
        if idle_s < FIRST_WORK_S:
            return _rendered(typed, typed)
        return _end(typed, sight)
    if waited_s >= IGNORED_S:
        return Act(typed=None, fault="ignored")
    is_due = waited_s >= recipe.submit_gap_s and typed.tries < recipe.submit_tries
    if typed.is_command or typed.is_touched:
        return Act(typed=typed)
    if is_due and not block_typing(sight, ignores=TEXT_IGNORES | set(typed.ignores)):
        return Act(typed=_set(typed, is_writing=True, tries=typed.tries + 1), keys=recipe.submit)
    return Act(typed=typed)


def _await_taking(typed: Typed, sight: Sight) -> Act:
    """The harness takes a prompt out of its inbox when it wants to: that nothing is seen of it says nothing.

    Nor can anybody else take it out. Of one that is cancelled meanwhile nobody can say that it will not begin: it is
    waited for a while, since its turn could be interrupted then.
    """
    if not typed.is_cancelled or sight.verdict.activity == "needs_input":
        return Act(typed=typed)
    since = typed.idle_since or sight.now
    if _since(since, sight) >= TAKEN_WITHIN_S:
        return Act(typed=None, fault="untaken")
    return Act(typed=typed if typed.idle_since is not None else _set(typed, idle_since=since))


def _await_answer(typed: Typed, sight: Sight) -> Act:
    """A dialog is up after the submission, and no work was seen.

    It may belong to a turn, or have come before the keys were taken: what is behind it will say. A command of the
    console is another matter: a dialog that stands there after it, and asks for no permission, is what it does.
    """
    if typed.is_command and not typed.was_asked and sight.verdict.kind is not NeedsInputKind.PERMISSION:
        since = typed.asked_since or sight.now
        if _since(since, sight) >= COMMAND_OPENED_S and not sight.is_half_drawn:
            return Act(typed=None, ending="completed", has_opened=True, is_rendered=not typed.is_rendered)
        return Act(typed=typed if typed.asked_since is not None else _set(typed, asked_since=since))
    is_old = _since(typed.at, sight) >= DIALOG_NOTED_S
    return Act(typed=_set(typed, at=sight.now) if is_old else typed)


def _await_end(typed: Typed, sight: Sight, recipe: TypingRecipe) -> Act:
    verdict = sight.verdict
    if verdict.activity != "idle":
        typed = _set(typed, idle_since=None) if typed.idle_since is not None else typed
        return _interrupt(typed, sight, recipe)
    since = typed.idle_since or sight.now
    is_told = _is_told(typed, verdict) and _is_named(typed, verdict)
    if is_told or (sight.now - since).total_seconds() >= IDLE_HOLDS_S:
        return _end(typed, sight)
    return Act(typed=_set(typed, idle_since=since))


def _interrupt(typed: Typed, sight: Sight, recipe: TypingRecipe) -> Act:
    """Presses the next key that interrupts, as long as work is seen: in an idle console it would do something else."""
    if not typed.is_cancelled or (not typed.keys and typed.interrupts >= INTERRUPT_TIMES - 1):
        return Act(typed=typed)
    if sight.verdict.activity != "running" or sight.block in ("foreground", "person_typing"):
        return Act(typed=typed)
    pressed_at = typed.pressed_at
    gap_s = recipe.interrupt_gap_s if typed.keys else max(INTERRUPT_AGAIN_S, recipe.interrupt_gap_s)
    if pressed_at is not None and (sight.now - pressed_at).total_seconds() < gap_s:
        return Act(typed=typed)
    keys = typed.keys or recipe.interrupt
    pressed = _set(
        typed,
        keys=keys[1:],
        interrupts=typed.interrupts + (0 if typed.keys else 1),
        pressed_at=sight.now,
        is_writing=True,
    )
    key = keys[0]
    return Act(typed=pressed, keys=(key,), press="interrupt")


def _rendered(typed: Typed, before: Typed) -> Act:
    now = typed if typed.is_rendered else _set(typed, is_rendered=True)
    return Act(typed=now, is_rendered=not before.is_rendered)


def _end(typed: Typed, sight: Sight) -> Act:
    error = _new_error(typed, sight.verdict)
    ending: Ending = "completed"
    if error is not None:
        ending = "limited" if error.code == "limited" else "failed"
    elif typed.is_cancelled:
        ending = "cancelled"
    return Act(typed=None, ending=ending, error=error, is_rendered=not typed.is_rendered)


def _new_error(typed: Typed, verdict: Verdict) -> KeptError | None:
    """The error that is kept, if it came after the submission: one that stood there before says nothing of it.

    Who tells the end of this very prompt knows its error too, whatever still stands on the screen.
    """
    if verdict.source is Source.HOOK and _is_told(typed, verdict) and verdict.considered:
        return verdict.considered[0].claim.error
    error, before = verdict.error, typed.error_before
    if error is None or typed.phase == "working" or before is None:
        return error
    is_old = (error.code, error.rule, error.message) == (before.code, before.rule, before.message)
    return None if is_old else error


def _is_told(typed: Typed, verdict: Verdict) -> bool:
    """Whether the harness says itself that it is idle; a hook only once it told this very prompt, and its end."""
    if verdict.source is Source.HOOK:
        return typed.is_witnessed and verdict.is_turn_over
    return verdict.source in (Source.PROGRAM_STATUS, Source.PROTOCOL)


def _is_named(typed: Typed, verdict: Verdict) -> bool:
    """Whether it is known what a turn failed with, if it failed: some tell only that, and show the rest a moment later."""
    error = _new_error(typed, verdict)
    return error is None or error.code is not None


def _since(at: datetime, sight: Sight) -> float:
    return (sight.now - at).total_seconds()
