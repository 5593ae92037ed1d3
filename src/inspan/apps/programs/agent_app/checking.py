"""`agent-app APP validate`: is the app right, and does it build?"""

from __future__ import annotations

import stat
from collections.abc import Iterator

from inspan.apps.client import JsonObject
from inspan.apps.faults import Fault
from inspan.apps.files import locked
from inspan.apps.folder import Folder
from inspan.apps.ownership import drifted_files
from inspan.apps.programs.screen import note, print_json, printable
from inspan.apps.programs.words import Words, command_line
from inspan.apps.serving import data_folder
from inspan.apps.starting import app_environment, run_step
from inspan.apps.trying import pass_gate
from inspan.model.errors import InspanError

__all__ = ["USAGE", "run_validate"]

USAGE = "agent-app APP validate [--no-build]"


def run_validate(folder: Folder, ref: str, words: Words) -> int:
    """Prints every problem, and whether the change that is being tried may take the app's place.

    The exit status is 1 where there is a problem.
    """
    no_build = words.switch("no-build")
    words.done(places=0, usage=USAGE)
    problems = list(_problems(folder))
    warnings = list(_warnings(folder))
    built = False
    if not problems and not no_build:
        log = folder.state / "build.log"
        environment = app_environment(port=folder.port, data=data_folder(folder), env="dev")
        try:
            with locked(folder.state / "serve.lock") as lock:
                built = run_step(folder, "build", log, environment, still_here=lock.renew)
        except Fault as fault:
            problems.append(fault.message)
            for line in str(fault.fields.get("log", "")).splitlines():
                note(f"  | {printable(line, longest=400)}")
    value: JsonObject = {"ok": not problems, "id": folder.id, "built": built, "problems": problems}
    value["warnings"] = warnings
    value["promotable"] = not problems and not no_build and pass_gate(folder)
    print_json(value)
    for problem in problems:
        note(f"problem: {printable(problem)}")
    for warning in warnings:
        note(f"warning: {printable(warning)}")
    if problems:
        return 1
    if value["promotable"]:
        note(f"  next: {command_line('agent-app', ref, 'promote')}")
    elif not no_build:
        note("note: no change is being tried, so there is nothing to promote.")
        note(f"  next: {command_line('agent-app', ref, 'dev')}, or {command_line('agent-app', ref, 'serve')}")
    return 0


def _problems(folder: Folder) -> Iterator[str]:
    from inspan.apps.model.manifest import read_app

    try:
        read_app(folder.path)
    except InspanError as error:
        said = error.detail.get("problems")
        yield from (f"{error.detail.get('file', '')}: {one}" for one in said) if said else (error.message,)
    try:
        yield from (f"{name}: this file of the framework was changed" for name in drifted_files(folder.path))
    except Fault as fault:
        yield fault.message
    if not folder.pipeline("start").strip():
        yield "manifest.json: pipeline.start is empty, so the app cannot be served"


def _warnings(folder: Folder) -> Iterator[str]:
    token = folder.path / ".agent-token"
    try:
        if stat.S_IMODE(token.stat().st_mode) & 0o077:
            yield ".agent-token can be read by others: run chmod 600 on it"
    except FileNotFoundError:
        yield ".agent-token is missing, so agents cannot write"
    for name in ("AGENT_APP.md", "reference/requirements.md"):
        if not (folder.path / name).is_file():
            yield f"{name} is missing: whoever changes the app has nothing to go by"
    try:
        ignored = (folder.path / ".gitignore").read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        ignored = []
    for name in (".a2app", ".agent-token"):
        if not any(line.strip("/") == name for line in ignored):
            yield f".gitignore does not name {name}"
