"""Dialogs of real consoles as requests: what is asked, which answers there are, and which keys would take them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import inspan.harnesses
from inspan.model.permission import OptionKind
from inspan.model.typing_recipe import Choice, ChoiceList
from inspan.plugin.manifest_file import load_manifest
from inspan.transports.terminal.composer import read_composer
from inspan.transports.terminal.dialogs import Dialog, next_keys, read_dialog
from inspan.transports.terminal.evaluating import RuleBook
from inspan.transports.terminal.screen import Snapshot
from support.terminal_recordings import read_rules, snapshots_of

DIALOGS = {
    ("claude-code", "120x40/approval"): ("dialog.permission", [OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS, OptionKind.OTHER, OptionKind.REJECT_ONCE], 0),
    ("claude-code", "80x24/approval"): ("dialog.permission", [OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS, OptionKind.OTHER, OptionKind.REJECT_ONCE], 0),
    ("claude-code", "120x40/trust"): ("gate.trust", [OptionKind.REJECT_ONCE, OptionKind.ALLOW_ONCE], 0),
    ("codex", "120x40/approval"): ("dialog.permission", [OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS, OptionKind.REJECT_ONCE], 0),
    ("codex", "80x24/approval"): ("dialog.permission", [OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS, OptionKind.REJECT_ONCE], 0),
    ("gemini", "120x40/approval"): ("dialog.permission", [OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS, OptionKind.REJECT_ONCE], 0),
    ("gemini", "120x40/trust"): ("gate.trust", [OptionKind.ALLOW_ONCE, OptionKind.OTHER, OptionKind.REJECT_ONCE], 0),
    ("qwen", "120x40/approval"): ("dialog.permission", [OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS, OptionKind.ALLOW_ALWAYS, OptionKind.REJECT_ONCE], 0),
    ("copilot", "120x40/approval"): ("dialog.permission", [OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS, OptionKind.REJECT_ONCE], 0),
    ("copilot", "120x40/trust"): ("gate.trust", [OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS, OptionKind.REJECT_ONCE], 0),
    ("opencode", "120x40/approval"): ("dialog.permission", [OptionKind.ALLOW_ONCE, OptionKind.OTHER, OptionKind.REJECT_ONCE], 0),
    ("opencode", "tmux-80x24/approval"): ("dialog.permission", [OptionKind.ALLOW_ONCE, OptionKind.OTHER, OptionKind.REJECT_ONCE], 0),
    ("vibe", "120x40/approval"): ("dialog.permission", [OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS, OptionKind.ALLOW_ALWAYS, OptionKind.REJECT_ONCE], 0),
    ("vibe", "tmux-80x24/approval"): ("dialog.permission", [OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS, OptionKind.ALLOW_ALWAYS, OptionKind.REJECT_ONCE], 0),
    ("kimi", "tmux-80x24/approval"): ("dialog.permission", [OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS, OptionKind.REJECT_ONCE], 0),
}  # fmt: skip
"""The dialog's rule, its answers from the top, and which of them is marked."""


def dialog_of(harness: str, screen: str) -> tuple[Dialog | None, ChoiceList | None, Snapshot]:
    snapshot = snapshots_of(harness)[screen]
    match = RuleBook(read_rules(harness)).read(snapshot).screen
    assert match is not None
    return read_dialog(match, snapshot), match.rule.answers, snapshot


@pytest.mark.requirement("L11", "H-N58")
@pytest.mark.parametrize(("harness", "screen"), sorted(DIALOGS))
def test_a_recorded_dialog_has_its_answers_and_the_marked_one(harness: str, screen: str) -> None:
    rule, kinds, marked = DIALOGS[harness, screen]
    dialog, _, _ = dialog_of(harness, screen)
    assert dialog is not None
    assert (dialog.rule, [row.option.kind for row in dialog.rows]) == (rule, kinds)
    assert [at for at, row in enumerate(dialog.rows) if row.is_marked] == [marked]


@pytest.mark.requirement("L11")
@pytest.mark.parametrize(
    ("harness", "screen", "subject"),
    [
        ("codex", "80x24/approval", "echo start > busy-tool.txt && sleep 8"),
        ("gemini", "80x24/approval", "Shell  echo start > busy-tool.txt && sleep 8"),
        ("claude-code", "120x40/approval", "echo start > busy-tool.txt && sleep 8"),
        ("copilot", "120x40/approval", "echo start > busy-tool.txt && sleep 8"),
        ("opencode", "120x40/approval", "echo start > busy-tool.txt && sleep 8"),
        ("vibe", "tmux-80x24/approval", "echo scripted > scripted-shell.txt"),
        ("qwen", "tmux-80x24/approval", "Shell echo scripted > scripted-shell.txt (Write a scripted file)"),
    ],
)
def test_a_recorded_dialog_says_which_command_it_is_about(harness: str, screen: str, subject: str) -> None:
    dialog, _, _ = dialog_of(harness, screen)
    assert dialog is not None
    assert dialog.subject == subject


@pytest.mark.requirement("L11")
@pytest.mark.parametrize(("harness", "screen"), sorted(DIALOGS))
def test_every_numbered_answer_of_a_recorded_dialog_is_known_so_that_the_mark_is_moved_as_far_as_it_has_to(
    harness: str, screen: str
) -> None:
    dialog, _, _ = dialog_of(harness, screen)
    assert dialog is not None
    names = [row.option.name for row in dialog.rows]
    numbers = [int(name[0]) for name in names if name[:1].isdigit()]
    assert numbers in ([], list(range(1, len(names) + 1))), names


@pytest.mark.requirement("L11")
def test_a_dialog_whose_refusal_is_marked_is_allowed_by_moving_the_mark_first_and_confirming_later() -> None:
    dialog, answers, _ = dialog_of("claude-code", "120x40/trust")
    assert dialog is not None
    assert answers is not None
    allow = next(row.option.id for row in dialog.rows if row.option.kind is OptionKind.ALLOW_ONCE)
    refuse = next(row.option.id for row in dialog.rows if row.option.kind is OptionKind.REJECT_ONCE)
    assert next_keys(dialog, answers, allow) == (("down",), False)
    assert next_keys(dialog, answers, refuse) == (("enter",), True)
    assert next_keys(dialog, answers, "another") is None


@pytest.mark.parametrize(
    ("harness", "screen", "keys"),
    [("cline", "tmux-80x24/approval", ("y",)), ("aider", "made-80x24/command", ("y", "enter"))],
)
def test_an_answer_with_keys_of_its_own_is_taken_at_once(
    harness: str, screen: str, keys: tuple[str, ...]
) -> None:
    dialog, answers, _ = dialog_of(harness, screen)
    assert dialog is not None
    assert answers is not None
    allow = next(row.option.id for row in dialog.rows if row.option.kind is OptionKind.ALLOW_ONCE)
    assert next_keys(dialog, answers, allow) == (keys, True)


def test_the_fingerprint_stands_for_what_is_asked_and_not_for_the_mark_or_what_was_said_before() -> None:
    _, answers, snapshot = dialog_of("codex", "120x40/approval")
    assert answers is not None

    def read(change: dict[str, str]) -> Dialog:
        lines = tuple(
            next((line.replace(old, new) for old, new in change.items() if old in line), line)
            for line in snapshot.lines
        )
        changed = msgspec.structs.replace(snapshot, lines=lines)
        match = RuleBook(read_rules("codex")).read(changed).screen
        assert match is not None
        dialog = read_dialog(match, changed)
        assert dialog is not None
        return dialog

    same = read({})
    moved = read({"› 1. Yes": "  1. Yes", "  3. No": "› 3. No"})  # noqa: RUF001 - as it is drawn
    assert [row.is_marked for row in moved.rows] == [False, False, True]
    assert moved.fingerprint == same.fingerprint
    assert read({"busy-tool.txt": "other-file.txt"}).fingerprint != same.fingerprint
    assert read({"I will run one": "I will soon run one"}).fingerprint == same.fingerprint
    assert same.subject == "echo start > busy-tool.txt && sleep 8"


def test_a_list_of_choices_that_nobody_could_take_is_refused() -> None:
    with pytest.raises(ValueError, match="marked"):
        ChoiceList(choices=(Choice(kind=OptionKind.ALLOW_ONCE, row="Yes"),))


COMPOSERS = {
    "claude-code": ("120x40", "80x24"),
    "codex": ("120x40", "80x24"),
    "gemini": ("120x40", "80x24"),
    "opencode": ("120x40",),
    "pi": ("120x40",),
    "qwen": ("120x40",),
    "vibe": ("120x40",),
    "copilot": ("120x40",),
}


@pytest.mark.requirement("H-C22", "L9")
@pytest.mark.parametrize("harness", sorted(COMPOSERS))
def test_a_recorded_composer_is_empty_but_for_a_draft(harness: str) -> None:
    manifest = load_manifest(Path(inspan.harnesses.__path__[0]) / harness)
    typing = manifest.modes["terminal"].terminal.typing
    assert typing is not None
    for size in COMPOSERS[harness]:
        found = {
            state: read_composer(snapshot, typing.composer)
            for state in ("ready", "ready2", "idle", "limit-after", "idle-after-error", "draft", "approval")
            if (snapshot := snapshots_of(harness).get(f"{size}/{state}")) is not None
        }
        assert found.pop("draft") == "text"
        assert found.pop("approval", "elsewhere") != "empty"
        assert {state: seen for state, seen in found.items() if seen != "empty"} == {}
        assert len(found) >= 3
