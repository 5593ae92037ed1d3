"""Screen rules: how a console is read, as data.

A rule looks at one region of the screen, at the window title and at the progress that the program reports, and
says what is so when they match. Rules are tried by priority; the first that matches tells the activity, and rules
about errors, limits and readiness are asked beside it. Nothing that matches is `unknown`.

Patterns are regular expressions of a kept-down kind, searched in the region's text with `^` and `$` at every row:
a repeat repeats one character or one fixed text, so that no pattern can run away.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from .diagnosis import DiagnosisCode
from .permission import NeedsInputKind
from .typing_recipe import ChoiceList

__all__ = ["Gate", "Provenance", "Region", "RuleReport", "ScreenRule", "ScreenRules", "Sign"]

Text = Annotated[str, msgspec.Meta(min_length=1)]
Pattern = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
Patterns = Annotated[tuple[Pattern, ...], msgspec.Meta(max_length=16)]
RuleName = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$", max_length=64)]
FixtureName = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+(?:[._/x-][a-z0-9]+)*$", max_length=128)]

RuleReport = Literal["running", "idle", "needs_input", "ready", "limit", "error", "ignore"]
"""What a rule says: an activity; that a prompt may be typed; an error to keep; or that this view tells nothing."""

Gate = Literal["trust", "login", "api_key", "hooks_review", "update", "model_choice", "consent", "advert"]
"""A dialog that stands before the session and is never answered by a guess."""

Sign = Literal["retrying", "queued", "background", "draft"]
"""What is seen beside the activity."""

Provenance = Literal["live", "source", "unverified"]
ProgressName = Literal["remove", "set", "error", "indeterminate", "pause"]

GATE_KINDS: dict[Gate, NeedsInputKind] = {
    "trust": NeedsInputKind.TRUST,
    "hooks_review": NeedsInputKind.TRUST,
    "login": NeedsInputKind.LOGIN,
    "api_key": NeedsInputKind.LOGIN,
    "update": NeedsInputKind.UPDATE,
    "model_choice": NeedsInputKind.QUESTION,
    "consent": NeedsInputKind.QUESTION,
    "advert": NeedsInputKind.QUESTION,
}
"""What a person owes at a gate, where its rule names no kind."""


class Region(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which rows of the screen a rule looks at; blank rows at the screen's end count as not there.

    Attributes:
        of: `whole`; `last_rows`, the last `rows`; `below` or `above` the last row that `anchor` matches, without
            it; `box`, what stands between the last two borders, side borders taken off; `above_box` and
            `below_box`, what stands beside those borders; `cursor_row`.
        rows: How many rows, those nearest to the anchor or to the end; 0 for all.
        anchor: The row to begin at.
        occurrence: Which row that the anchor matches.
    """

    of: Literal["whole", "last_rows", "below", "above", "box", "above_box", "below_box", "cursor_row"] = (
        "whole"
    )
    rows: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    anchor: Annotated[str, msgspec.Meta(max_length=300)] = ""
    occurrence: Literal["first", "last"] = "last"

    def __post_init__(self) -> None:
        """Refuse a region without its anchor or its rows."""
        if (self.of in ("below", "above")) != bool(self.anchor):
            raise ValueError("`anchor` belongs to `below` and `above`, and to them alone")
        if self.of == "last_rows" and self.rows == 0:
            raise ValueError("`last_rows` needs `rows`")


class ScreenRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One rule.

    Attributes:
        name: Its name among the rules of this harness.
        report: What it says.
        priority: Higher is tried first; among equals the order of the file counts.
        region: Where it looks.
        last_match: Narrows the region to the last row that this matches and what is below it, so that an older
            one further up says nothing. Where no row matches, the rule does not match.
        all: Every one of these must match.
        any: At least one of these must match, where there are any.
        none: None of these may match.
        title_any: At least one of these must match the window title.
        title_none: None of these may match it, and there must be one.
        progress_any: The newest progress report must have one of these states.
        is_alternate: Which screen must be shown.
        cursor_past: The cursor must stand right of this column: a suggestion in an empty composer leaves it where
            it was, and typed text does not.
        kind: What a person owes; needed for `needs_input` unless there is a gate.
        gate: Which gate it is; only with `needs_input`.
        code: What the error is; only with `error`.
        signs: What is seen beside the activity; only with an activity.
        capture: Finds words to keep, by the groups `message` and `resets`; searched in the region.
        answers: How the dialog that the rule sees is answered; only with `needs_input`.
        matches: Names of fixtures that the rule must match.
        spares: Names of fixtures that it must not match.
        provenance: Whether it was seen live, read in the source, or is only believed.
        note: What a reader should know.
    """

    name: RuleName
    report: RuleReport
    priority: Annotated[int, msgspec.Meta(ge=0, le=1000)]
    region: Region = Region()
    last_match: Annotated[str, msgspec.Meta(max_length=300)] = ""
    all: Patterns = ()
    any: Patterns = ()
    none: Patterns = ()
    title_any: Patterns = ()
    title_none: Patterns = ()
    progress_any: tuple[ProgressName, ...] = ()
    is_alternate: bool | None = None
    cursor_past: Annotated[int, msgspec.Meta(ge=0, le=1000)] | None = None
    kind: NeedsInputKind | None = None
    gate: Gate | None = None
    code: DiagnosisCode | None = None
    signs: tuple[Sign, ...] = ()
    capture: Annotated[str, msgspec.Meta(max_length=300)] = ""
    answers: ChoiceList | None = None
    matches: tuple[FixtureName, ...] = ()
    spares: tuple[FixtureName, ...] = ()
    provenance: Provenance = "live"
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse a rule that says less, or more, than its report needs."""
        if not (self.all or self.any or self.last_match or self.title_any or self.progress_any):
            raise ValueError("a rule needs something that must be seen; what is missing alone proves nothing")
        if self.report == "needs_input" and self.kind is None and self.gate is None:
            raise ValueError("`needs_input` needs a `kind` or a `gate`")
        if self.report != "needs_input" and (self.kind is not None or self.gate is not None):
            raise ValueError("`kind` and `gate` belong to `needs_input`")
        if self.report != "needs_input" and self.answers is not None:
            raise ValueError("`answers` belong to `needs_input`")
        if self.report != "error" and self.code is not None:
            raise ValueError("`code` belongs to `error`; a `limit` is `limited`")
        if self.report not in ("running", "idle", "needs_input") and self.signs:
            raise ValueError("`signs` belong to an activity")

    @property
    def reads_screen(self) -> bool:
        """Whether it looks at the text, and not at title or progress alone."""
        return bool(self.all or self.any or self.none or self.last_match)

    @property
    def owed(self) -> NeedsInputKind | None:
        """What a person owes when it matches."""
        return self.kind or (GATE_KINDS[self.gate] if self.gate is not None else None)


class ScreenRules(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The rules of one console.

    Attributes:
        schema: The version of this shape.
        source: Where they come from.
        verified: Date and version.
        rules: The rules.
    """

    schema: Literal[1]
    source: Text
    verified: Text
    rules: Annotated[tuple[ScreenRule, ...], msgspec.Meta(max_length=200)]

    def __post_init__(self) -> None:
        """Refuse two rules of one name."""
        names = [rule.name for rule in self.rules]
        if len(set(names)) != len(names):
            raise ValueError("two rules have the same name")
