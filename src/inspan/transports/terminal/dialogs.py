"""Dialogs: a question that is drawn on the screen, as a request with options, and the keys that answer it.

A dialog is known by a fingerprint of what it asks: its own rows, and nothing of what stands around it. Whoever answers it answers that: before each key the screen is
read again, and where it asks something else no key is pressed.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from typing import Literal

import msgspec

from inspan.model.permission import PermissionOption
from inspan.model.screen_rules import ScreenRule
from inspan.model.typing_recipe import ChoiceList, Key
from inspan.plugin.screen_patterns import compile_pattern

from .evaluating import Match
from .region import CORNERS, SIDES, cut_region, place_region, shown_rows
from .screen import Snapshot

__all__ = ["Answering", "Dialog", "DialogRow", "next_keys", "read_dialog"]

MARKS = "❯>›→●○◉◯▶▸*│┃║|╭╮╰╯─━ \t"  # noqa: RUF001 - as they are drawn
"""What is drawn around an answer's words: it says which one is marked, not what is asked."""
FRAME = frozenset(SIDES + CORNERS)
"""What a box has at its left side, from its upper corner down."""
TRACK = re.compile(" {4,}[\u2580-\u2590]$")
"""The piece of a scroll bar at the end of a row: it comes and goes while the question stays."""
PATH_ROWS = 28
"""How many of the last rows may show the path that is asked about."""
MAX_ROWS = 200


class DialogRow(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is on the screen: its option, its place among the rows that its rule looks at, and the keys that
    take it at once."""

    option: PermissionOption
    row: int
    column: int = 0
    is_marked: bool
    keys: tuple[Key, ...] = ()


class Dialog(msgspec.Struct, frozen=True, kw_only=True):
    """A dialog as it is drawn.

    Attributes:
        rule: The rule that saw it.
        fingerprint: Stands for what it asks.
        subject: What it is about, in its own words.
        rows: Its answers, from the top.
        path: The whole path that it asks about.
    """

    rule: str
    fingerprint: str
    subject: str
    path: str = ""
    rows: tuple[DialogRow, ...]


class Answering(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer on its way.

    Attributes:
        option: The option's id.
        phase: `moving` until the mark stands on it, `taken` once it was confirmed.
        at: When the newest key was pressed.
        is_writing: A write is on its way.
        moves: How often the mark was moved.
    """

    option: str
    at: datetime
    phase: Literal["moving", "taken"] = "moving"
    is_writing: bool = False
    moves: int = 0


def read_dialog(match: Match, snapshot: Snapshot) -> Dialog | None:
    """The dialog that a rule saw; `None` where nobody said how it is answered, or no answer is on the screen."""
    rule = match.rule
    answers = rule.answers
    if answers is None:
        return None
    found = _region_text(rule, snapshot)
    if found is None:
        return None
    text, first_row = found
    rows = _find_rows(answers, text.split("\n")[:MAX_ROWS])
    if not rows:
        return None
    if answers.is_marked_by_background:
        rows = _mark_by_background(rows, answers, snapshot, first_row=first_row)
    places = sorted(row.row for row, _ in rows)
    subject = _subject(answers, text) or match.evidence.strip(MARKS)
    return Dialog(
        rule=rule.name,
        fingerprint=_fingerprint(
            rule, answers, shown_rows(snapshot), (first_row + places[0], first_row + places[-1])
        ),
        subject=subject,
        path=_path(answers, snapshot),
        rows=tuple(sorted((row for row, _ in rows), key=lambda row: (row.row, row.column))),
    )


def next_keys(dialog: Dialog, answers: ChoiceList, option: str) -> tuple[tuple[Key, ...], bool] | None:
    """The keys to press now, and whether they take the answer; `None` where it cannot be taken.

    Where the mark has to be moved it is moved only: what is marked then is read again before it is confirmed.
    """
    at = next((at for at, row in enumerate(dialog.rows) if row.option.id == option), None)
    if at is None:
        return None
    wanted = dialog.rows[at]
    if wanted.keys:
        return wanted.keys, True
    marked = [place for place, row in enumerate(dialog.rows) if row.is_marked]
    if len(marked) != 1:
        return None
    steps = at - marked[0]
    if steps == 0:
        return (answers.confirm,), True
    return ((answers.next if steps > 0 else answers.previous),) * abs(steps), False


def _find_rows(answers: ChoiceList, lines: list[str]) -> list[tuple[DialogRow, str]]:
    """The answers that are on the screen, in the order of the list, each with the words that it was found by."""
    marked = compile_pattern(answers.marked) if answers.marked else None
    rows: list[tuple[DialogRow, str]] = []
    taken: set[int] = set()
    for choice in answers.choices:
        pattern = compile_pattern(choice.row)
        # Answers may stand in one row that have keys of their own, or that are told apart by more than their row.
        may_share = bool(choice.keys) or answers.is_marked_by_background
        free = (
            (at, match)
            for at, line in enumerate(lines)
            if (may_share or at not in taken) and (match := pattern.search(line)) is not None
        )
        at, match = next(free, (-1, None))
        if match is None:
            continue
        taken.add(at)
        words = match.group() if answers.is_marked_by_background else lines[at]
        option = PermissionOption(
            id=f"{choice.kind}.{len(rows)}", name=words.strip(MARKS), kind=choice.kind, raw_kind="screen"
        )
        is_marked = marked is not None and marked.search(lines[at]) is not None
        row = DialogRow(option=option, row=at, column=match.start(), is_marked=is_marked, keys=choice.keys)
        rows.append((row, words.strip()))
    return rows


def _mark_by_background(
    rows: list[tuple[DialogRow, str]], answers: ChoiceList, snapshot: Snapshot, *, first_row: int
) -> list[tuple[DialogRow, str]]:
    """The answers, of which the one is marked that stands on a background of its own; none where that is not clear.

    Every answer of the list has to be there, each on one background, so that no odd one out is taken for the mark.
    """
    grounds = [_background(snapshot, first_row + row.row, row.column, words) for row, words in rows]
    alone = [at for at, ground in enumerate(grounds) if grounds.count(ground) == 1]
    if None in grounds or len(rows) != len(answers.choices) or len(set(grounds)) != 2 or len(alone) != 1:
        return rows
    at = alone[0]
    row, words = rows[at]
    return [*rows[:at], (msgspec.structs.replace(row, is_marked=True), words), *rows[at + 1 :]]


def _background(snapshot: Snapshot, row: int, column: int, words: str) -> str | None:
    """The one background that words of a row stand on; `None` where they stand on several, or nobody knows.

    Args:
        snapshot: The screen.
        row: Their row on it.
        column: Where they begin at the earliest: a region may have left out a border before them.
        words: They themselves.
    """
    if snapshot.backgrounds is None:
        return None
    at = snapshot.lines[row].find(words, column)
    found = set(snapshot.backgrounds[row][at : at + len(words)]) if at >= 0 and words else set[str]()
    return found.pop() if len(found) == 1 else None


def _path(answers: ChoiceList, snapshot: Snapshot) -> str:
    if not answers.path:
        return ""
    text = "\n".join(shown_rows(snapshot)[-PATH_ROWS:])
    found = compile_pattern(answers.path).search(text)
    return "" if found is None else (found.groupdict().get("path") or "").strip(MARKS)


def _fingerprint(rule: ScreenRule, answers: ChoiceList, shown: tuple[str, ...], at: tuple[int, int]) -> str:
    """Stands for what is asked: the dialog from its first row to its last answer, without the mark.

    What stands above it or below it may change at any moment, and nothing within it is left out: `sleep 8s` asks
    something else than `sleep 9s`.

    Args:
        rule: The rule that saw it.
        answers: Its answers.
        shown: The rows of the screen.
        at: The rows of its first and its last answer on the screen.
    """
    first, last = at
    end = last + 1
    while end < len(shown) and shown[end].strip(MARKS):
        end += 1  # the last answer goes on in further rows
    asked = (TRACK.sub("", row) for row in shown[_first_row(answers, shown, first) : first])
    offered = (row.lstrip(MARKS) for row in shown[first:end])
    return hashlib.sha256("\n".join([rule.name, *asked, *offered]).encode()).hexdigest()[:24]


def _first_row(answers: ChoiceList, shown: tuple[str, ...], answer: int) -> int:
    """The row in which a dialog begins; the first of the screen where nobody can say.

    Of several rows that look like its beginning it is the topmost: the lower ones may be words of what is asked. A
    box cannot be drawn by them, since they stand within it.

    Args:
        answers: Its answers.
        shown: The rows of the screen.
        answer: The row of the topmost of them.
    """
    if answers.begins:
        begins = compile_pattern(answers.begins)
        found = next((at for at in range(answer + 1) if begins.search(shown[at])), None)
        if found is not None:
            return found
    side = len(shown[answer]) - len(shown[answer].lstrip())
    if shown[answer][side : side + 1] not in SIDES:
        return 0
    top = answer
    while top and shown[top - 1][side : side + 1] in FRAME and not shown[top - 1][:side].strip():
        top -= 1
        if shown[top][side] not in SIDES:
            break
    return top


def _region_text(rule: ScreenRule, snapshot: Snapshot) -> tuple[str, int] | None:
    """What a rule looks at, and the row of the screen that it begins in."""
    rows = shown_rows(snapshot)
    place = place_region(rule.region, rows, snapshot.cursor.row)
    text = cut_region(rule.region, rows, snapshot.cursor.row)
    if text is None or place is None:
        return None
    if not rule.last_match:
        return text, place.start
    pattern = compile_pattern(rule.last_match)
    lines = text.split("\n")
    at = next((at for at in range(len(lines) - 1, -1, -1) if pattern.search(lines[at])), None)
    return None if at is None else ("\n".join(lines[at:]), place.start + at)


def _subject(answers: ChoiceList, text: str) -> str:
    if not answers.subject:
        return ""
    found = compile_pattern(answers.subject).search(text)
    if found is None:
        return ""
    return (found.groupdict().get("subject") or "").strip(MARKS)[:400]
