"""The program `agent-app`: builds apps, serves them, and manages those on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from inspan.apps.faults import Misused
from inspan.apps.folder import Folder
from inspan.apps.model.verbs import FRAMEWORK_VERBS, OPERATE_VERBS, REGISTRY_VERBS
from inspan.apps.programs.opening import answer_alone
from inspan.apps.programs.screen import print_lines, printable, run_program
from inspan.apps.programs.targets import find_row, find_target, is_app, refuse_verb_first
from inspan.apps.programs.words import Words, command_line, read_words
from inspan.apps.registry import Registry

from .help import help_for

__all__ = ["main"]

_ELSEWHERE = ("import", "toolkit-sync", "adapter-sync")
"""Verbs of the original that are for its own blueprints and libraries."""

_SWITCHES = {
    "scaffold": {"force"},
    "validate": {"no-build"},
    "serve": {"install", "open"},
    "stop": {"dev"},
    "open": {"print-only"},
    "remove": {"yes"},
    "list": {"json", "prune"},
    "skills": {"path", "json"},
    "global": {"path"},
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; 0 done, 1 refused, 2 a wrong command line, 3 the app does not answer."""
    return run_program("agent-app", _run, argv)


def _run(words: list[str]) -> int:
    answered = answer_alone("agent-app", words, help_for, usage="agent-app APP VERB …")
    if answered is not None:
        return answered
    registry = Registry()
    first, rest = words[0], words[1:]
    if first in REGISTRY_VERBS and not (rest and rest[0] in FRAMEWORK_VERBS and is_app(first, registry)):
        return _of_all(first, rest, registry)
    return _of_one(first, rest, registry)


def _of_all(verb: str, rest: list[str], registry: Registry) -> int:
    line = read_words(rest, switches=_SWITCHES[verb])
    if line.switch("help"):
        print_lines(help_for([verb]))
        return 0
    match verb:
        case "list":
            from .listing import run_list

            return run_list(line, registry)
        case "skills":
            from .skills import run_skills

            return run_skills(line)
        case _:
            from .skills import run_global

            return run_global(line, registry)


def _of_one(ref: str, rest: list[str], registry: Registry) -> int:
    def takes_first(word: str) -> bool:
        return is_app(word, registry)

    if not (rest and rest[0] in FRAMEWORK_VERBS):
        verbs = tuple(verb for verb in FRAMEWORK_VERBS if verb not in REGISTRY_VERBS)
        refuse_verb_first([ref, *rest], verbs=verbs, program="agent-app", takes_first=takes_first)
        refuse_verb_first([ref, *rest], verbs=OPERATE_VERBS, program="a2app", takes_first=takes_first)
    if not rest:
        first = "serve" if is_app(ref, registry) else "scaffold"
        hint = f"{command_line('agent-app', ref, first)}\nOne of: {', '.join(_verbs())}"
        raise Misused("What to do with the app is missing.", hint=hint)
    verb, rest = rest[0], rest[1:]
    if verb in ("--help", "-h"):
        print_lines(help_for([]))
        return 0
    if verb in OPERATE_VERBS:
        raise Misused(f"{verb!r} is done by a2app.", hint=command_line("a2app", ref, verb, *rest))
    if verb in REGISTRY_VERBS:
        raise Misused(f"{verb!r} concerns no single app.", hint=command_line("agent-app", verb, *rest))
    if verb in _ELSEWHERE:
        raise Misused(
            f"{verb!r} is for apps of the original framework, and is not offered here.",
            hint=f"Verbs: {', '.join(_verbs())}",
        )
    if verb not in FRAMEWORK_VERBS:
        known = ", ".join(_verbs())
        raise Misused(
            f"There is no verb {printable(verb, longest=80)!r}; there are: {known}.", hint="agent-app --help"
        )
    if verb == "bridge":
        if any(word in ("--help", "-h") for word in rest):
            print_lines(help_for([verb]))
            return 0
        return _bridge(ref, rest, registry)
    line = read_words(rest, switches=_SWITCHES.get(verb, ()))
    if line.switch("help"):
        print_lines(help_for([verb]))
        return 0
    if verb == "scaffold":
        from .scaffold import scaffold

        return scaffold(ref, line, registry)
    if verb == "forget":
        from .removing import run_forget

        return run_forget(_registered_path(ref, registry), line, registry)
    return _carry_out(verb, ref, _folder(ref, registry), line, registry)


def _carry_out(verb: str, ref: str, folder: Folder, line: Words, registry: Registry) -> int:
    match verb:
        case "validate":
            from .checking import run_validate

            return run_validate(folder, ref, line)
        case "serve":
            from .running import run_serve

            return run_serve(folder, ref, line, registry)
        case "stop":
            from .running import run_stop

            return run_stop(folder, line, registry)
        case "open":
            from .running import run_open

            return run_open(folder, ref, line, registry)
        case "backup":
            from .keeping import run_backup

            return run_backup(folder, line)
        case "restore":
            from .keeping import run_restore

            return run_restore(folder, line)
        case "dev":
            from .keeping import run_dev

            return run_dev(folder, ref, line)
        case "promote":
            from .keeping import run_promote

            return run_promote(folder, line, registry)
        case _:
            from .removing import run_remove

            return run_remove(folder, ref, line, registry)


def _bridge(ref: str, rest: list[str], registry: Registry) -> int:
    from inspan.apps.bridge.command import run

    return run(str(_folder(ref, registry).path), rest)


def _folder(ref: str, registry: Registry) -> Folder:
    folder = find_target(ref, registry, takes_url=False).folder
    if folder is None:
        raise AssertionError("an app that is no URL has a folder")
    return folder


def _registered_path(ref: str, registry: Registry) -> Path:
    """The row's path, also of an app that is not there any more."""
    row = find_row(ref, registry)
    return row.path if row else Path(os.path.abspath(ref))


def _verbs() -> list[str]:
    return [verb for verb in FRAMEWORK_VERBS if verb not in (*REGISTRY_VERBS, *_ELSEWHERE)]
