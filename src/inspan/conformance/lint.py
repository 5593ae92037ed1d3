"""Lint: what is wrong with a harness's folder, and what would make it better; nothing is started.

A fault keeps the harness from being what it says; an advice does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from inspan.model.capability import EvidenceLevel
from inspan.model.errors import ManifestError
from inspan.model.manifest import Manifest, ModeManifest, PostureRule
from inspan.model.posture import Approvals, Sandbox
from inspan.plugin.manifest_file import MANIFEST_FILE, load_manifest
from inspan.plugin.renamed_keys import read_old_names
from inspan.plugin.toml_file import read_table

from .console_lint import check_consoles
from .finding import Finding
from .outcomes import (
    EXPECTED_FILE,
    Outcomes,
    find_outcomes,
    find_recordings,
    read_expected,
    replay_in_mode,
)
from .patterns import nested_repeat

__all__ = ["RULES", "Finding", "lint_folder"]

RULES = {
    "manifest": "The manifest is read strictly, and leads nowhere that is not.",
    "renamed": "A key has the name that it has now; its old name is read for a while.",
    "source": "What is supported says where that is known from.",
    "proof": "What is proved names a recording or a test that is there.",
    "posture": "At least one posture can be honoured, and the default one should be.",
    "posture-set": "approvals=ask is set, not hoped for: some harnesses begin by approving everything.",
    "pattern": "A pattern repeats no repeat, so that no text makes it slow.",
    "recording": "Recordings replay without unknown updates and faults, to what is expected of them.",
    "session-id": "The session ids in the recordings have the form that the manifest gives.",
    "plugin": "The plugin that the manifest names is there.",
    "readme": "There is a README.md.",
    "install": "It is said how the program is installed, and which versions were tried.",
    "diagnosis": "A diagnosis says where it is known from.",
    "screen-rule": "A screen rule names a recorded screen that it must match and one that it must not, and keeps to them.",
    "screen-label": "The rules say of each recorded screen what its label says.",
    "screen-line": "No line of a rule can be broken or left out without a recorded screen that fails.",
    "screen-size": "A rule about an activity is held to a screen of 80x24.",
    "screen-slow": "No rule takes longer for a look than it may.",
    "screen-ready": "Ready asks for two features: a sign-in screen with an arrow has one.",
    "screen-signal": "A console that is said to report something has a rule that sees it.",
}
"""The rules by name, each in a sentence."""

_PATH = re.compile(r"(?:recordings|tests)/[A-Za-z0-9_./-]*[A-Za-z0-9_]")
_LEVELS_UP = 5


def lint_folder(
    folder: Path, *, manifest: Manifest | None = None, over: tuple[Path, ...] = ()
) -> tuple[Finding, ...]:
    """All findings of one harness's folder, faults first.

    Args:
        folder: The folder, named as the harness's id.
        manifest: The merged manifest, where the folder is one layer of several.
        over: The folders of the layers above it, whose recorded screens count as well.
    """
    try:
        known = manifest or load_manifest(folder)
    except ManifestError as error:
        return _faults_of(error)
    found = [
        *_check_names(folder),
        *_check_claims(folder, known),
        *_check_postures(known),
        *_check_patterns(known),
        *_check_recordings(folder, known),
        *check_consoles((folder, *over), known),
        *_check_files(folder, known),
        *_check_words(known),
    ]
    return tuple(sorted(found, key=lambda one: one.severity != "fault"))


def _faults_of(error: ManifestError) -> tuple[Finding, ...]:
    first = Finding(
        severity="fault",
        rule="manifest",
        at=str(error.detail.get("key_path") or error.detail.get("file", "")),
        message=error.message,
        hint=error.hint,
    )
    others = cast("list[dict[str, str]]", error.detail.get("others", []))
    return first, *(
        Finding(
            severity="fault",
            rule="manifest",
            at=one["key_path"],
            message=f"{one['key_path']}: expected {one['expected']}.",
        )
        for one in others
    )


def _check_names(folder: Path) -> Iterator[Finding]:
    file = folder / MANIFEST_FILE
    if not file.is_file():
        return
    for note in read_old_names(read_table(file))[1]:
        yield Finding(
            severity="advice",
            rule="renamed",
            at=note.partition(" ")[0],
            message=note,
            hint="Rename it; docs/compatibility.md says for how long the old name is read.",
        )


def _check_claims(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    for name, mode in manifest.modes.items():
        for field in mode.capabilities.__struct_fields__:
            claim = getattr(mode.capabilities, field)
            at = f"modes.{name}.capabilities.{field}"
            if claim.is_supported and not claim.source:
                yield Finding(
                    severity="fault",
                    rule="source",
                    at=at,
                    message="It is supported, and nothing says where that is known from.",
                    hint="Add source and verified, or say unknown.",
                )
            elif claim.evidence is EvidenceLevel.PROVED:
                yield from _check_proof(folder, claim.source, at)


def _check_proof(folder: Path, source: str, at: str) -> Iterator[Finding]:
    named = _PATH.findall(source)
    if not named:
        yield Finding(
            severity="fault",
            rule="proof",
            at=at,
            message=f"It is proved, and its source names no recording and no test: {source!r}.",
            hint="Name a file below recordings/ or tests/, or say probed or declared.",
        )
    for path in named:
        if (folder / path).is_file():
            continue
        if path.startswith("tests/"):
            # The tests of an installed harness stay in its repository.
            if not any((above / path).is_file() for above in folder.resolve().parents[:_LEVELS_UP]):
                yield Finding(
                    severity="advice",
                    rule="proof",
                    at=at,
                    message=f"{path} cannot be seen from here.",
                    hint="Look for it in the harness's own repository.",
                )
        else:
            yield Finding(
                severity="fault",
                rule="proof",
                at=at,
                message=f"It is proved by {path}, which is not there.",
                hint="Add the recording, or say probed or declared.",
            )


def _check_postures(manifest: Manifest) -> Iterator[Finding]:
    for name, mode in manifest.modes.items():
        at = f"modes.{name}.postures"
        if not mode.postures:
            yield Finding(
                severity="fault",
                rule="posture",
                at=at,
                message="No posture can be honoured, so that nothing can be launched.",
                hint='Add one. approvals = "bypass" fits a harness of which nobody knows what it asks.',
            )
            continue
        default = [rule for rule in mode.postures if _is_default(rule)]
        if not default:
            yield Finding(
                severity="advice",
                rule="posture",
                at=at,
                message="The default posture (approvals=ask, sandbox=none) cannot be honoured.",
                hint="A seat must name another one; say in the README which.",
            )
        elif mode.transport == "acp" and not _is_set(default[0]):
            yield Finding(
                severity="advice",
                rule="posture-set",
                at=at,
                message="Nothing sets approvals=ask: it is what the harness does by itself, if it does.",
                hint="Set a session mode, a session option, arguments or variables.",
            )


def _is_default(rule: PostureRule) -> bool:
    return rule.approvals is Approvals.ASK and rule.sandbox is Sandbox.NONE


def _is_set(rule: PostureRule) -> bool:
    return bool(rule.args or rule.environment or rule.session_mode or rule.config_options)


def _check_patterns(manifest: Manifest) -> Iterator[Finding]:
    for at, pattern in _patterns(manifest, ""):
        if nested_repeat(pattern):
            yield Finding(
                severity="fault",
                rule="pattern",
                at=at,
                message=f"{pattern!r} repeats a repeat, so that a long text could take for ever.",
                hint="Let a character that must come part the repetitions.",
            )


def _patterns(value: Any, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            one = getattr(value, name)
            here = f"{at}.{name}" if at else name
            if isinstance(one, str) and (name.endswith("pattern") or name in ("signed_in", "signed_out")):
                yield here, one
            else:
                yield from _patterns(one, here)
    elif isinstance(value, dict):
        for key, one in cast("dict[str, Any]", value).items():
            yield from _patterns(one, f"{at}.{key}")
    elif isinstance(value, tuple):
        for index, one in enumerate(cast("tuple[Any, ...]", value)):
            yield from _patterns(one, f"{at}[{index}]")


def _check_recordings(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    recordings = folder / "recordings"
    try:
        expected = read_expected(recordings)
    except ManifestError as error:
        yield Finding(
            severity="fault",
            rule="recording",
            at=f"recordings/{EXPECTED_FILE}",
            message=error.message,
            hint=error.hint,
        )
        return
    seen: set[str] = set()
    for name, mode in manifest.modes.items():
        for key, file in find_recordings(recordings, name, mode).items():
            at = f"recordings/{key}"
            seen.add(key)
            try:
                yield from _check_replay(file, at, manifest, mode, expected.get(key))
            except ManifestError as error:
                yield Finding(
                    severity="fault", rule="recording", at=at, message=error.message, hint=error.hint
                )
    for name in sorted(expected.keys() - seen):
        yield Finding(
            severity="fault",
            rule="recording",
            at=f"recordings/{EXPECTED_FILE}",
            message=f"It expects something of {name}, which is not there or belongs to no mode.",
            hint="A recording is named for its mode: recordings/MODE.jsonl, or recordings/MODE/NAME.out.",
        )


def _check_replay(
    file: Path, at: str, manifest: Manifest, mode: ModeManifest, expected: Outcomes | None
) -> Iterator[Finding]:
    replay = replay_in_mode(file, mode)
    outcomes = find_outcomes(replay, mode)
    for what, count in (("unknown updates", outcomes.unknown_updates), ("faults", outcomes.faults)):
        if count:
            yield Finding(
                severity="fault",
                rule="recording",
                at=at,
                message=f"It replays with {count} {what}.",
                hint="`inspan harness replay` shows which.",
            )
    pattern = manifest.session.id_pattern
    strange = [one for one in replay.sessions if pattern and not re.fullmatch(pattern, one)]
    if strange:
        yield Finding(
            severity="fault",
            rule="session-id",
            at="session.id_pattern",
            message=f"{at} holds {len(strange)} session ids that it does not match.",
            hint="Correct the pattern; empty accepts any id.",
        )
    if expected is None:
        yield Finding(
            severity="advice",
            rule="recording",
            at=at,
            message="Nothing says what it is expected to come to.",
            hint="Write it down with `python -m inspan.conformance.expect FOLDER`.",
        )
    elif expected != outcomes:
        yield Finding(
            severity="fault",
            rule="recording",
            at=at,
            message=f"It does not come to what recordings/{EXPECTED_FILE} expects.",
            hint="Look at the difference with `python -m inspan.conformance.expect FOLDER`.",
        )


def _check_files(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    if manifest.plugin and not (folder / manifest.plugin).is_file():
        yield Finding(
            severity="fault",
            rule="plugin",
            at="plugin",
            message=f"{manifest.plugin} is not there.",
            hint="Add it, or remove `plugin` from the manifest.",
        )
    if not (folder / "README.md").is_file():
        yield Finding(
            severity="advice",
            rule="readme",
            at="README.md",
            message="There is none.",
            hint="Say on a page how it is installed and signed in to, and what is odd about it.",
        )


def _check_words(manifest: Manifest) -> Iterator[Finding]:
    program = manifest.program
    if not (program.install or program.module):
        yield Finding(
            severity="advice",
            rule="install",
            at="program.install",
            message="Nothing says how the program is installed.",
            hint="Give a command line that a person may run.",
        )
    if not program.tested:
        yield Finding(
            severity="advice",
            rule="install",
            at="program.tested",
            message="No version was tried.",
            hint="Give the range of versions that was.",
        )
    for name, mode in manifest.modes.items():
        for kind in ("diagnoses", "turn_text_failures"):
            for index, one in enumerate(getattr(mode, kind)):
                if not one.source:
                    yield Finding(
                        severity="advice",
                        rule="diagnosis",
                        at=f"modes.{name}.{kind}[{index}]",
                        message="Nothing says where it is known from.",
                        hint="Add source and verified.",
                    )
