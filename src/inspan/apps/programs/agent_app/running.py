"""`agent-app APP serve`, `stop` and `open`."""

from __future__ import annotations

from inspan.apps.client import JsonObject
from inspan.apps.display import open_url
from inspan.apps.faults import Rejected
from inspan.apps.folder import Folder
from inspan.apps.ports import base_url_of, who_answers
from inspan.apps.programs.screen import note, print_json, printable, warn
from inspan.apps.programs.words import Words, command_line
from inspan.apps.registry import Registry
from inspan.apps.serving import serve, stop, stop_dev

__all__ = ["OPEN_USAGE", "SERVE_USAGE", "STOP_USAGE", "run_open", "run_serve", "run_stop"]

SERVE_USAGE = "agent-app APP serve [--install] [--open]"
STOP_USAGE = "agent-app APP stop [--dev]"
OPEN_USAGE = "agent-app APP open [--print-only]"


def run_serve(folder: Folder, ref: str, words: Words, registry: Registry) -> int:
    """Starts the app, and says where it is once it answers; gives the exit status.

    Raises:
        Rejected: It cannot be started.
    """
    installs, opens = words.switch("install"), words.switch("open")
    words.done(places=0, usage=SERVE_USAGE)
    try:
        served = serve(folder, registry, installs=installs, warn=warn)
    except Rejected as fault:
        for line in str(fault.fields.get("log", "")).splitlines():
            note(f"  | {printable(line, longest=400)}")
        raise
    value: JsonObject = {
        "ok": True,
        "id": folder.id,
        "name": folder.name,
        "url": served.url,
        "pid": served.pid,
        "port": served.port,
    }
    if served.already_running:
        value["alreadyRunning"] = True
    value["agentWork"] = served.agent_work
    if opens:
        value |= _shown(served.url, print_only=False)
    print_json(value)
    note(f"  next: {command_line('a2app', ref)}")
    work = served.agent_work
    if work["queuesAgentWork"] and not work["running"]:
        note(
            "note: the app has work for an agent, and no bridge here takes it to one."
            " An agent that polls will do as well."
        )
        note(f"  next: {command_line('agent-app', ref, 'bridge')}")
    return 0


def run_stop(folder: Folder, words: Words, registry: Registry) -> int:
    """Ends the app, or with `--dev` the trial of a change; gives the exit status.

    Raises:
        Rejected: It runs, and is not ours to end; or it did not end.
    """
    is_dev = words.switch("dev")
    words.done(places=0, usage=STOP_USAGE)
    done = stop_dev(folder) if is_dev else stop(folder, registry)
    value: JsonObject = {"ok": True, "id": folder.id, "name": folder.name, "stopped": done.pid}
    if done.was_stale:
        value["cleared"] = True
    print_json(value)
    return 0


def run_open(folder: Folder, ref: str, words: Words, registry: Registry) -> int:
    """Shows the app's page, if the app answers there as itself; gives the exit status: 0, 1 or 3."""
    print_only = words.switch("print-only")
    words.done(places=0, usage=OPEN_USAGE)
    port = folder.port_in_use()
    url = base_url_of(port)
    found = who_answers(port)
    start = command_line("agent-app", ref, "serve")
    if found.kind == "nobody":
        print_json({"ok": False, "url": url, "error": "not serving", "hint": start})
        note(f"agent-app: {printable(folder.name)} is not running.")
        note(f"  next: {start}")
        return 3
    twin = None if folder.is_served_here() else registry.twin_on(folder, port)
    if found.app_id != folder.id or twin is not None:
        print_json(
            {"ok": False, "url": url, "error": "port held by another app", "servingId": found.app_id or None}
        )
        if twin is not None:
            who = f"the app in {printable(twin.path)}, which has the same id"
        elif found.app_id:
            who = f"another app ({printable(found.app_id, longest=80)})"
        else:
            who = "a program that is no such app"
        note(f"agent-app: port {port} is held by {who}, so nothing is opened.")
        note("  next: agent-app list")
        return 1
    print_json(
        {"ok": True, "id": folder.id, "name": folder.name, "url": url, **_shown(url, print_only=print_only)}
    )
    return 0


def _shown(url: str, *, print_only: bool) -> JsonObject:
    shown = open_url(url, print_only=print_only, warn=warn)
    value: JsonObject = {"opened": shown.opened, "via": shown.via}
    if shown.reason:
        value["reason"] = shown.reason
        note(f"note: nothing was opened ({shown.reason}); the page is at {url}")
    return value
