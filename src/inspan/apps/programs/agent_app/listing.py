"""`agent-app list`: the apps on this machine, and which of them run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from inspan.apps.agent_work import bridge_record
from inspan.apps.client import JsonObject
from inspan.apps.folder import Folder
from inspan.apps.ports import base_url_of, who_answers
from inspan.apps.programs.screen import note, print_json, print_lines, printable
from inspan.apps.programs.words import Words
from inspan.apps.registry import RegisteredApp, Registry

__all__ = ["USAGE", "run_list"]

USAGE = "agent-app list [--json] [--prune]"

_AT_ONCE = 8


def run_list(words: Words, registry: Registry) -> int:
    """Prints every app of the index; gives the exit status.

    Raises:
        Rejected: The index cannot be read, or not be written with `--prune`.
    """
    is_json, prunes = words.switch("json"), words.switch("prune")
    words.done(places=0, usage=USAGE)
    pruned = registry.prune() if prunes else []
    for row in pruned:
        note(f"forgotten: {printable(row.name, longest=120)}, which was at {printable(row.path)}")
    rows = registry.list()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        apps = list(pool.map(partial(_row, registry), rows))
    if is_json:
        value: JsonObject = {"apps": apps}
        if prunes:
            value["pruned"] = [str(row.path) for row in pruned]
        print_json(value)
        return 0
    if not apps:
        print_lines(["no apps yet", "", "next", "  agent-app DIR scaffold --name NAME"])
        return 0
    shown = [
        (
            str(app["status"]),
            printable(app["name"], longest=40),
            printable(app["id"], longest=40),
            str(app["url"] or "-"),
            printable(app["path"]),
            _extras(app),
        )
        for app in apps
    ]
    widths = [max(len(row[column]) for row in shown) for column in range(6)]
    print_lines(
        [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in shown
        ]
    )
    return 0


def _extras(app: JsonObject) -> str:
    said: list[str] = []
    if "dev" in app:
        said.append(f"trying a change at {app['dev']}")
    if "bridge" in app:
        said.append(f"bridge:{printable(app['bridge'], longest=60)}")
    return ", ".join(said)


def _row(registry: Registry, row: RegisteredApp) -> JsonObject:
    folder = row.folder()
    value: JsonObject = {"id": row.id, "name": row.name, "path": str(row.path)}
    if row.blueprint is not None:
        value["blueprint"] = row.blueprint
    if folder is None:
        if row.port is not None:
            value["port"] = row.port
        return {**value, "status": "missing", "url": None, "pid": None}
    value |= {"id": folder.id, "name": folder.name, "port": folder.port}
    record = folder.serve_record()
    is_alive = record is not None and record.is_alive
    port = record.port if record is not None and is_alive else folder.port
    status = _status(folder, port)
    if status == "running" and not is_alive and registry.twin_on(folder, port) is not None:
        # What answers there under its id is the app of which one is a copy.
        status = "unreachable"
    is_up = status == "running"
    value |= {
        "status": status,
        "url": base_url_of(port) if is_up else None,
        "pid": record.pid if record is not None and is_alive and is_up else None,
    }
    trial = folder.dev_record()
    if trial is not None and trial.is_alive:
        value["dev"] = base_url_of(trial.port)
    bridge = bridge_record(folder)
    if bridge and bridge["isLive"]:
        value["bridge"] = f"{bridge.get('harness', '?')}/{bridge.get('mode', '?')}"
    return value


def _status(folder: Folder, port: int) -> str:
    found = who_answers(port)
    if found.kind == "nobody":
        return "stopped"
    return "running" if found.app_id == folder.id else "unreachable"
