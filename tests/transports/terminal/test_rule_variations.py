"""Rules say what a state is, not what one recording looks like: they hold for what is made of each recorded screen.

A variation may be seen as nothing known (`unknown`), which types nothing; it may not be seen as something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from inspan.conformance.console_fixtures import ConsoleState, streams_of
from inspan.transports.terminal.arbitration import Verdict
from inspan.transports.terminal.console import Console
from inspan.transports.terminal.replaying import replay_console
from support.screen_variations import (
    Variation,
    drafted,
    paint,
    resized,
    reworded,
    varied,
    with_text_above,
)
from support.terminal_recordings import read_rules, recorded_sets, snapshots_of

RECORDED = (
    "aider",
    "claude-code",
    "cline",
    "codex",
    "copilot",
    "gemini",
    "kimi",
    "opencode",
    "pi",
    "qwen",
    "vibe",
)
SIZES = ((60, 20), (80, 24), (100, 30), (120, 40), (200, 50))
COMMAND = r"echo start > busy-tool\.txt && sleep 8|echo scripted > scripted-shell\.txt"
COMMANDS = {
    "another": "rm -rf build && python3 -m pytest -q tests/test_a.py",
    "long": "find . -name node_modules -type d -prune -exec rm -rf {} + && docker compose -f deploy/production/web.yml"
    " up --build --detach --remove-orphans --force-recreate web worker scheduler",
    "wide": "printf 日本語のテスト 🎉👍🏽 ümläut > ausgabe.txt",
    "about consoles": "grep -rn 'esc to interrupt' . # Press enter to confirm or esc to cancel",
    "about answers": "echo (Y)es/(N)o 1. Yes 2. No",
}
OVERLAYS = ("signin-",)
"""What lies over the middle of another screen is not drawn anew by wrapping rows."""
BEGIN = datetime(2000, 1, 1, tzinfo=UTC)


def seen(harness: str, one: Variation) -> Verdict:
    """What is believed of a console that shows this screen."""
    console = Console(one.size, rules=read_rules(harness))
    try:
        console.feed(paint(one), at=BEGIN)
        return console.look(now=BEGIN + timedelta(seconds=1))
    finally:
        console.close()


def recorded(harness: str) -> Iterator[tuple[str, ConsoleState, Variation]]:
    """Every recorded screen of a program that runs, with what it is."""
    for one in recorded_sets(harness):
        if one.provenance == "live":
            for name, state in one.states.items():
                if state.state in ("running", "idle", "needs_input"):
                    whole = f"{one.name}/{name}"
                    yield whole, state, varied(snapshots_of(harness)[whole])


def wrong(state: ConsoleState, verdict: Verdict) -> str:
    """What is wrong with a verdict; nothing where it says nothing."""
    if verdict.activity == "unknown":
        return ""
    if verdict.activity != state.state:
        return f"{verdict.activity} by {verdict.rule}"
    if state.kind == "gate":
        return "" if verdict.gate else f"no gate, by {verdict.rule}"
    if state.kind and verdict.kind != state.kind:
        return f"{verdict.kind} by {verdict.rule}"
    if state.state == "idle":
        code = verdict.error.code if verdict.error else ""
        if state.error and code and code != state.error:
            return f"the error {code}"
        if code and not (state.error or state.error_kept):
            return f"the error {code}"
        if ("draft" in verdict.signs) != state.draft:
            return "draft" if not state.draft else "no draft"
    return ""


@pytest.mark.requirement("H-N54", "H-A24")
@pytest.mark.parametrize("harness", RECORDED)
def test_a_recorded_state_is_the_same_at_every_size(harness: str) -> None:
    faults: list[str] = []
    known = every = 0
    for name, state, screen in recorded(harness):
        if name.startswith(OVERLAYS):
            continue
        for columns, rows in SIZES:
            verdict = seen(harness, resized(screen, columns, rows))
            every += 1
            known += verdict.activity == state.state
            if fault := wrong(state, verdict):
                faults.append(f"{name} at {columns}x{rows} is {fault}")
    assert faults == []
    assert known > 0.8 * every


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("harness", RECORDED)
def test_a_recorded_state_is_the_same_whatever_command_is_asked_about(harness: str, words: str) -> None:
    other = COMMANDS[words].replace("\\", r"\\")
    faults = [
        f"{name} is {fault}"
        for name, state, screen in recorded(harness)
        if any(re.search(COMMAND, row) for row in screen.rows)
        and (fault := wrong(state, seen(harness, reworded(screen, {COMMAND: other}))))
    ]
    assert faults == []


LONG_QUESTION = (
    "Which of the two ways shall I take to store the records, given that the first one needs a migration of the whole"
    " table and the second one a new service that somebody has to run?"
)
SCRIPT = tuple(f"line {number} of a script" for number in range(14))

Wording = tuple[str, str, dict[str, str], str, str]
WORDINGS: tuple[Wording, ...] = (
    ("claude-code", "approval", {"Do you want to proceed": "Do you want to make this edit to parser.py"}, "needs_input", "permission"),
    ("claude-code", "approval", {"Do you want to proceed": "Do you want to create 日本語.md"}, "needs_input", "permission"),
    ("claude-code", "approval", {"Tab to amend": "Tab to amend · ctrl+e to explain"}, "needs_input", "permission"),
    ("claude-code", "approval", {"Tab to amend": "Tab to amend\n\n  ● main\n  ◯ general-purpose  scripted"}, "needs_input", "permission"),
    ("claude-code", "approval", {COMMAND: "\n ".join(SCRIPT)}, "needs_input", "permission"),
    ("claude-code", "question", {"^scripted 1$": LONG_QUESTION, "  3. Type": "  3. three\n     more\n  4. four\n  5. Type"}, "needs_input", "question"),
    ("claude-code", "question", {"↑/↓ to navigate": "↑/↓ to navigate · n to add notes · Tab to switch questions"}, "needs_input", "question"),
    ("claude-code", "trust", {r"/u/dev/\S+": "/home/somebody/a path with spaces/日本語"}, "needs_input", "trust"),
    ("claude-code", "busy", {r"^[✻✽✶✳✢·*] \S+…": "✶ Flibbertigibbeting…"}, "running", ""),
    ("claude-code", "busy", {r"\(\d+s · [^)]*\)": "(1h 2m 3s · ↑ 12.4k tokens)"}, "running", ""),
    ("claude-code", "idle", {"⏸ manual mode on": "⏵⏵ accept edits on (shift+tab to cycle)"}, "idle", ""),
    ("claude-code", "limit", {"● API Error: Request rejected.*": "● You've hit your session limit · resets 11:30pm (Europe/Berlin)"}, "idle", "limited"),
    ("claude-code", "limit", {"● API Error: Request rejected.*": "● 5-hour limit reached ∙ resets 4am", "  please check.*": ""}, "idle", "limited"),
    ("claude-code", "limit", {"● API Error: Request rejected.*": "● API Error: 529 Overloaded.", "  please check.*": ""}, "idle", "call_failed"),
    ("codex", "approval", {"run the following command": "make the following edits"}, "needs_input", "permission"),
    ("codex", "approval", {COMMAND: "\n  ".join(SCRIPT)}, "needs_input", "permission"),
    ("codex", "approval", {"to cancel": "to cancel or o to open thread"}, "needs_input", "permission"),
    ("codex", "question", {"^  scripted 1$": f"  {LONG_QUESTION}", "    3. None": "    3. three\n    4. four\n    5. five\n    6. None"}, "needs_input", "question"),
    ("codex", "question", {"submit answer": "submit all"}, "needs_input", "question"),
    ("codex", "busy-tool", {r"• Working \(\S+ ": "◦ Running tests (1h 02m 03s "}, "running", ""),
    ("codex", "limit", {"■ Quota exceeded.*": "■ You've hit your usage limit. Upgrade or try again at Dec 3rd, 2026 1:05 PM."}, "idle", "limited"),
    ("codex", "limit", {"■ Quota exceeded.*": "■ unexpected status 503 Service Unavailable: overloaded"}, "idle", "call_failed"),
    ("gemini", "approval", {r"Allow execution of \[Shell\]\?": "Apply this change?"}, "needs_input", "permission"),
    ("gemini", "question", {r"│ scripted 1  +│$": f"│ {LONG_QUESTION} │", "│   3.  Enter a": "│   3.  three │\n│       more │\n│   4.  four │\n│       more │\n│   5.  Enter a"}, "needs_input", "question"),
    ("gemini", "question", {"↑/↓ to navigate": "←/→ to switch questions · ↑/↓ to navigate"}, "needs_input", "question"),
    ("gemini", "busy", {r"Thinking\.\.\. \(esc to cancel, \d+s\)": "Reticulating splines… (esc to cancel, 1m 3s)"}, "running", ""),
    ("gemini", "limit", {"gemini-2.5-flash": "another-model-of-a-longer-name"}, "needs_input", "limit"),
    ("copilot", "approval", {"Do you want to run this command": "Do you want to edit this file"}, "needs_input", "permission"),
    ("copilot", "question", {"^ scripted$": f" {LONG_QUESTION}\n\n \u276f 1. one\n   2. two\n   3. three"}, "needs_input", "question"),
    ("copilot", "busy", {r"Working · \S+ B": "Thinking · 12.4 KiB"}, "running", ""),
    ("copilot", "limit", {"✗ 429 You exceeded[^┃]*": "✗ You've reached your weekly usage limit. It resets on December 4 "}, "idle", "limited"),
    ("opencode", "approval", {"# Shell command": "← Edit src/日本語.py"}, "needs_input", "permission"),
    ("opencode", "question", {"┃  scripted 1$": f"┃  {LONG_QUESTION}", "┃  2. Type": "┃  2. two\n  ┃     more\n  ┃  3. Type"}, "needs_input", "question"),
    ("opencode", "limit", {r"You exceeded your current quota, please check your plan and billing[ a-z.]*": "Rate limit reached for scripted-1 on tokens per minute. Please try again in 2.066s, and see your account."}, "idle", "limited"),
    ("qwen", "approval", {r"Allow execution of: .*\?": "Apply this change?"}, "needs_input", "permission"),
    ("qwen", "question", {"Enter: Select": "Space: Toggle | Enter: Confirm"}, "needs_input", "question"),
    ("qwen", "question", {"^   scripted 1$": f"   {LONG_QUESTION}", "     3. Type": "     3. three\n        more\n     4. Type"}, "needs_input", "question"),
    ("qwen", "busy", {r"\(\d+s · ": "(2m 3s · "}, "running", ""),
    ("vibe", "approval", {"file_system.bash tool .*?  ": "file_system.write_file tool  "}, "needs_input", "permission"),
    ("vibe", "question", {"Enter select": "Enter submit"}, "needs_input", "question"),
    ("vibe", "busy", {r"Generating… \(\d+s": "Sautéing… (1m02s"}, "running", ""),
    ("pi", "idle", {r"\d+\.\d%/": "?/"}, "idle", ""),
    ("pi", "busy", {"Working": "Compacting context"}, "running", ""),
    ("pi", "limit", {" Error: 429: .*": " Error: You have hit your usage limit. Try again in ~142 min."}, "idle", "limited"),
    ("kimi", "approval", {"Shell is requesting approval to run command": "WriteFile is requesting approval to edit"}, "needs_input", "permission"),
    ("cline", "approval", {"run_commands": "editor"}, "needs_input", "permission"),
)  # fmt: skip
"""Harness, recorded state, other words, and what the screen then is: its activity, and what is owed or failed."""


@pytest.mark.requirement("H-A24")
@pytest.mark.parametrize(
    ("harness", "name", "words", "activity", "which"),
    WORDINGS,
    ids=[f"{one[0]}-{one[1]}-{at}" for at, one in enumerate(WORDINGS)],
)
def test_the_same_state_in_other_words_is_still_seen(
    harness: str, name: str, words: dict[str, str], activity: str, which: str
) -> None:
    faults: list[str] = []
    tried = 0
    for whole, state, screen in recorded(harness):
        if not whole.endswith(f"/{name}") or state.state != activity:
            continue
        for columns, rows in ((screen.columns, screen.height), (80, 24), (200, 50)):
            other = resized(reworded(screen, words), columns, rows)
            if other.rows == resized(screen, columns, rows).rows:
                continue
            tried += 1
            verdict = seen(harness, other)
            told = verdict.kind if activity == "needs_input" else verdict.error.code if verdict.error else ""
            if (verdict.activity, told) != (activity, which):
                faults.append(f"{whole} at {columns}x{rows} is {verdict.activity} {told} by {verdict.rule}")
    assert tried
    assert faults == []


LIMITS = (
    (
        "claude-code",
        "●.*",
        "● You've hit your session limit · resets 11:30pm (Europe/Berlin)",
        "11:30pm (Europe/Berlin)",
    ),
    (
        "codex",
        "■.*",
        "■ You've hit your usage limit. Upgrade to Pro or try again at Dec 3rd, 2026 1:05 PM.",
        "at Dec 3rd, 2026 1:05 PM",
    ),
)


@pytest.mark.requirement("H-C19")
@pytest.mark.parametrize(("harness", "old", "new", "resets"), LIMITS)
def test_the_time_when_a_limit_ends_is_whole_though_its_row_was_wrapped(
    harness: str, old: str, new: str, resets: str
) -> None:
    told = {
        (name, columns): error.resets if (error := seen(harness, other).error) else None
        for name, _, screen in recorded(harness)
        if name.endswith("/limit")
        for columns, rows in SIZES
        if (other := resized(reworded(screen, {old: new, "^  please check.*": ""}), columns, rows))
    }
    assert set(told.values()) == {resets}, told


ENDS = {
    "aider": r"^> ?$|^─{20}",
    "claude-code": r"^[✻✽✶✳✢·*] \S.*…|^─{8}|^\u276f Press up",
    "cline": r"^ [⠁-⣿] |^─{8}",
    "codex": r"^\u203a |^[•◦] Working",
    "copilot": r"^ ~/|^ /u/|^╻",
    "gemini": r"^ [⠁-⣿] |^─{8}",
    "kimi": r"^[⠁-⣿] |^── input",
    "opencode": r"^ +┃",
    "pi": r"^── |^─{8}|^ Steering",
    "qwen": r"^  [⠁-⣿] |^─{8}",
    "vibe": r"^.{1,3} \S.*… \(\d|^─{8}.* ─$|^» Queued",
}
"""Rows below the newest entry: the line of the work, and the input line with what frames it."""
ENTRIES = {
    "aider": ("", "> "),
    "claude-code": ("  ", "  "),
    "cline": ("   ", "   "),
    "codex": ("  ", "  "),
    "copilot": ("   ", "    "),
    "gemini": ("  ", "   "),
    "kimi": ("  ", "  "),
    "opencode": ("     ", "  ┃  "),
    "pi": (" ", " "),
    "qwen": ("    ", "    "),
    "vibe": ("  ", "  "),
}
"""What stands before every row of an answer, and of a prompt."""
IMITATED = ("approval", "question", "trust", "apikey", "hooks-review", "busy", "busy-tool", "queued")


def end_of_talk(harness: str, rows: tuple[str, ...]) -> int | None:
    """The row below the newest entry."""
    last = max((at for at, row in enumerate(rows) if row), default=0)
    ends = [at for at in range(max(0, last - 17), last + 1) if re.search(ENDS[harness], rows[at])]
    if not ends:
        return None
    first = ends[-1]
    for at in reversed(ends):
        first = at if first - at <= 5 else first
    return first


def imitations(harness: str, columns: int) -> Iterator[tuple[str, list[str]]]:
    """The last rows of screens that ask something or work."""
    for name, _, screen in recorded(harness):
        if name.endswith(tuple(f"/{one}" for one in IMITATED)) and screen.columns <= columns:
            last = max(at for at, row in enumerate(screen.rows) if row)
            yield name, list(screen.rows[max(0, last - 15) : last + 1])


@pytest.mark.requirement("H-N10", "H-A24")
@pytest.mark.parametrize("place", [0, 1], ids=["answer", "prompt"])
@pytest.mark.parametrize("harness", sorted(ENTRIES))
def test_a_text_that_imitates_a_dialog_or_work_is_neither(harness: str, place: int) -> None:
    indent = ENTRIES[harness][place]
    faults: list[str] = []
    tried = 0
    for name, state, screen in recorded(harness):
        if not name.endswith(("/idle", "/ready", "/busy", "/approved")) or name.startswith("live-"):
            continue
        at = end_of_talk(harness, screen.rows)
        if at is None or wrong(state, seen(harness, screen)):
            continue
        for imitated, rows in imitations(harness, screen.columns):
            text = [f"{indent}{row}" for row in ["It looks like this:", *rows]]
            tried += 1
            if fault := wrong(state, seen(harness, with_text_above(screen, at, (*text, "")))):
                faults.append(f"{name} with {imitated} is {fault}")
    assert tried
    assert faults == []


DRAFTS = (
    "x",
    "日本語の下書き 🎉",
    "1. Yes",
    "Do you want to proceed?",
    "✻ Baking… (3s)",
    "API Error: 429",
    "esc to interrupt please",
    "Enter to confirm · Esc to cancel",
    "Press enter to confirm or esc to cancel",
)


@pytest.mark.requirement("H-C22", "H-N10")
@pytest.mark.parametrize("harness", RECORDED)
def test_a_draft_is_one_whatever_is_typed(harness: str) -> None:
    faults = [
        f"{name} with {text!r} is {fault}"
        for name, state, screen in recorded(harness)
        if name.endswith("/draft")
        for text in DRAFTS
        if (fault := wrong(state, seen(harness, drafted(screen, "half typed draft about the parser", text))))
    ]
    assert faults == []


@pytest.mark.requirement("H-N54")
@pytest.mark.parametrize("harness", RECORDED)
def test_a_dialog_that_is_drawn_or_taken_away_is_never_seen_as_another(harness: str) -> None:
    faults: list[str] = []
    for one in recorded_sets(harness):
        if one.provenance != "live":
            continue
        for stream, states in streams_of(one):
            asked = {state.kind for state in states.values() if state.state == "needs_input"}
            for change in replay_console(stream, size=one.size, rules=read_rules(harness)):
                if change.state != "needs_input" or change.gate:
                    continue
                if change.kind not in asked | {"permission"} and change.source in ("screen", "title"):
                    faults.append(f"{one.name} at {change.offset} is {change.kind} by {change.rule}")
    assert faults == []
