"""Console: one harness on one terminal, from its bytes to what is believed of it. Holds no clock and does no I/O.

Whoever owns the pty feeds what the program writes, writes back what comes of it, and looks as often as it likes.
The journal of a seat is fed in the same way after a restart, and a recording in tests: there is one path.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from inspan.model.evidence import Source
from inspan.model.screen_rules import ScreenRules

from .arbitration import FRESH_S, Verdict, judge
from .claims import Claim
from .evaluating import Reading, RuleBook
from .identity import IDENTITY, PROGRAM_STATUS_ANSWER
from .opening import Engine, open_screen
from .program_status import Discarded, StatusQuestion, parse_status
from .screen import ScreenEvent, ScreenReset, ScreenSize, Snapshot, UnknownSequence
from .seeing import read_screen_claim, read_title_claim
from .standing import CONTRADICTION_S, NO_CLAIMS, Claims, accept_claim, withdraw_claim
from .status_records import (
    NO_RECORDS,
    StatusRecords,
    apply_report,
    forget_records,
    read_background,
    read_root,
)

__all__ = ["HELD_LIMIT_S", "Console", "ConsoleCheckpoint", "Explanation"]

HELD_LIMIT_S = 1.0
"""How long a program may hold its screen half drawn before it is looked at all the same."""
NO_RULES = ScreenRules(schema=1, source="none", verified="never", rules=())


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a verdict is as it is: every rule that was tried, and every record that the program keeps.

    Attributes:
        verdict: The verdict, with every claim that was weighed.
        reading: The reading, with every rule that was tried.
        snapshot: The screen that was read.
        records: The program's status records.
        discarded_reports: How many status reports broke the protocol's bounds.
        last_discard: Why the newest of them did.
        was_asked: Whether the program asked if status reports are taken, and was told so.
    """

    verdict: Verdict
    reading: Reading
    snapshot: Snapshot
    records: StatusRecords
    discarded_reports: int
    last_discard: str
    was_asked: bool


class ConsoleCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A console at one moment: what was fed after it may be fed again to a console that begins with it.

    Attributes:
        rows: Height.
        columns: Width.
        dump: What draws the screen again.
        claims: What was claimed.
        records: What the program said of itself.
        sequence: How often the screen was read.
        discarded: How many status reports broke the protocol's bounds.
        last_discard: Why the newest of them did.
        was_asked: Whether the program asked if status reports are taken.
    """

    rows: int
    columns: int
    dump: bytes
    claims: Claims
    records: StatusRecords
    sequence: int
    discarded: int
    last_discard: str
    was_asked: bool


class Console:
    """A terminal with a harness on it."""

    def __init__(
        self,
        size: ScreenSize,
        *,
        rules: ScreenRules = NO_RULES,
        scrollback_lines: int = 1000,
        engine: Engine = "ghostty",
        checkpoint: ConsoleCheckpoint | None = None,
    ) -> None:
        """Open an empty terminal, or one as it was at `checkpoint`, which then gives the size.

        Raises:
            ManifestError: A rule cannot be used.
        """
        self._book = RuleBook(rules)
        if checkpoint is not None:
            size = ScreenSize(rows=checkpoint.rows, columns=checkpoint.columns)
        self._size = size
        self._screen = open_screen(
            size, on_event=self._take, scrollback_lines=scrollback_lines, engine=engine
        )
        self._claims = NO_CLAIMS
        self._records = NO_RECORDS
        self._sequence = 0
        self._discarded = 0
        self._last_discard = ""
        self._was_asked = False
        self._held_since: datetime | None = None
        self._is_held_back = False
        self._at: datetime | None = None
        self._read_of: Snapshot | None = None
        self._reading = Reading()
        if checkpoint is not None:
            self._screen.feed(checkpoint.dump)
            self._claims, self._records = checkpoint.claims, checkpoint.records
            self._sequence, self._was_asked = checkpoint.sequence, checkpoint.was_asked
            self._discarded, self._last_discard = checkpoint.discarded, checkpoint.last_discard

    @property
    def size(self) -> ScreenSize:
        """Height and width."""
        return self._size

    @property
    def is_at_ground(self) -> bool:
        """Whether no sequence and no character is half fed, so that a checkpoint is exact."""
        return self._screen.is_at_ground

    @property
    def reading(self) -> Reading:
        """The newest reading."""
        return self._reading

    @property
    def is_half_drawn(self) -> bool:
        """Whether the newest look came in the middle of a frame: the newest reading is of the one before it."""
        return self._is_held_back

    def snapshot(self) -> Snapshot:
        """What is shown now."""
        return self._screen.snapshot()

    def dialog_snapshot(self) -> Snapshot:
        """What is shown now, with its backgrounds where the newest reading saw a dialog that they tell of."""
        match = self._reading.screen
        answers = None if match is None else match.rule.answers
        is_painted = answers is not None and answers.is_marked_by_background
        return self._screen.painted() if is_painted else self._screen.snapshot()

    def feed(self, data: bytes, *, at: datetime) -> bytes:
        """Show what the program wrote, and give back what the terminal answers."""
        self._at = at
        return self._screen.feed(data)

    def resize(self, size: ScreenSize) -> bytes:
        """Take another size; gives back what the terminal writes."""
        self._size = size
        return self._screen.resize(size)

    def hear(self, claim: Claim) -> None:
        """Take the claim of another source: a hook, a protocol, an operator."""
        self._claims = accept_claim(self._claims, claim)

    def withdraw(self, source: Source, *, sequence: int) -> None:
        """Forget the claim of another source: what it was about is over."""
        self._claims = withdraw_claim(self._claims, source, sequence=sequence)

    def look(self, *, now: datetime) -> Verdict:
        """Read the screen, if it is whole, and weigh everything that is known."""
        snapshot = self._screen.snapshot()
        self._is_held_back = self._is_half_drawn(snapshot, now)
        if not self._is_held_back:
            if self._read_of is None or not _shows_the_same(snapshot, self._read_of):
                self._reading = self._book.read(snapshot)
            self._read_of = snapshot
            self._claim_what_is_seen(now)
        self._claims, verdict = judge(self._claims, now=now, background=read_background(self._records))
        return verdict

    def explain(self, *, now: datetime) -> Explanation:
        """A look with its reasons."""
        verdict = self.look(now=now)
        snapshot = self._screen.snapshot()
        return Explanation(
            verdict=verdict,
            reading=self._book.explain(snapshot),
            snapshot=snapshot,
            records=self._records,
            discarded_reports=self._discarded,
            last_discard=self._last_discard,
            was_asked=self._was_asked,
        )

    def checkpoint(self) -> ConsoleCheckpoint:
        """Everything that a console must begin with to go on from here."""
        return ConsoleCheckpoint(
            rows=self._size.rows,
            columns=self._size.columns,
            dump=self._screen.dump(),
            claims=self._claims,
            records=self._records,
            sequence=self._sequence,
            discarded=self._discarded,
            last_discard=self._last_discard,
            was_asked=self._was_asked,
        )

    def redraw(self) -> bytes:
        """What draws the screen on another terminal of the same size."""
        return self._screen.dump()

    def scrollback(self, lines: int) -> tuple[str, ...]:
        """The newest rows that scrolled out, the oldest first."""
        return self._screen.scrollback(lines)

    def look_again_s(self, *, now: datetime) -> float | None:
        """After how many seconds a look may say something else though nothing is fed; `None` for never."""
        if self._held_since is not None:
            return HELD_LIMIT_S
        if self._claims.contradictions:
            return CONTRADICTION_S
        hook = self._claims.newest.get(Source.HOOK)
        if hook is not None and hook.activity == "running":
            return max(0.1, FRESH_S - (now - hook.at).total_seconds() + 0.1)
        return None

    def close(self) -> None:
        """Free the terminal. May be called twice."""
        self._screen.close()

    def _take(self, event: ScreenEvent) -> bytes:
        """What the emulator hands out, in byte order, while it is being fed."""
        match event:
            case ScreenReset():
                self._records = forget_records(self._records)
                self._claim_status()
                return b""
            case UnknownSequence(kind="osc"):
                return self._take_sequence(event)
            case UnknownSequence():
                return b""

    def _take_sequence(self, event: UnknownSequence) -> bytes:
        assert self._at is not None, "sequences come out of a feed, and a feed has its time"  # noqa: S101
        match parse_status(event.content, is_truncated=event.is_truncated):
            case None:
                return b""
            case Discarded(reason=reason):
                self._discarded += 1
                self._last_discard = reason
                return b""
            case StatusQuestion():
                self._was_asked = True
                end = b"\x07" if event.terminator == "bel" else b"\x1b\\"
                return b"\x1b]" + PROGRAM_STATUS_ANSWER + end if IDENTITY.has_program_status else b""
            case report:
                self._records = apply_report(self._records, report, at=self._at)
                if report.id == "":
                    self._claim_status()
                return b""

    def _claim_status(self) -> None:
        claim = read_root(self._records)
        self._claims = (
            withdraw_claim(self._claims, Source.PROGRAM_STATUS, sequence=self._records.sequence)
            if claim is None
            else accept_claim(self._claims, claim)
        )

    def _claim_what_is_seen(self, now: datetime) -> None:
        if self._reading.is_ignored:
            return
        self._sequence += 1
        for source, claim in (
            (Source.SCREEN, read_screen_claim(self._reading, at=now, sequence=self._sequence)),
            (Source.TITLE, read_title_claim(self._reading, at=now, sequence=self._sequence)),
        ):
            self._claims = (
                withdraw_claim(self._claims, source, sequence=self._sequence)
                if claim is None
                else accept_claim(self._claims, claim)
            )

    def _is_half_drawn(self, snapshot: Snapshot, now: datetime) -> bool:
        self._held_since = (self._held_since or now) if snapshot.is_held else None
        return self._held_since is not None and (now - self._held_since).total_seconds() < HELD_LIMIT_S


def _shows_the_same(one: Snapshot, other: Snapshot) -> bool:
    """Whether two looks give a rule the same to read."""
    return (
        one.lines is other.lines
        and one.title == other.title
        and one.progress == other.progress
        and one.cursor.row == other.cursor.row
        and one.is_alternate == other.is_alternate
    )
