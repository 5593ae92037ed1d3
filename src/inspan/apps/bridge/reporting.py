"""`bridge status`: what would be used, what runs, what waits; and what none of that proves."""

from __future__ import annotations

from inspan.apps.agent_work import work_of
from inspan.apps.client import JsonObject
from inspan.apps.folder import Folder
from inspan.apps.ports import base_url_of, who_answers
from inspan.apps.programs.screen import note, print_json, printable
from inspan.apps.programs.words import command_line
from inspan.apps.registry import a2app_home

from .journal import last_lines
from .ladder import NO_RUNG
from .record import Record
from .routes import Profile
from .setting import open_setting

__all__ = ["harness_of", "status", "tell_ladder"]

_LOG_LINES = 5


def status(folder: Folder, *, harness: str | None) -> int:
    """Prints how the app's bridge is. Nothing is changed."""
    setting = open_setting(folder, harness=harness)
    choice = setting.choice
    found = Record(folder).read()
    running = found if found is not None and found.is_alive else None
    port = folder.port_in_use()
    is_up = who_answers(port).app_id == folder.id
    work = work_of(folder, base_url_of(port) if is_up else None)
    route = choice.ladder.route
    print_json(
        {
            "a2app": True,
            "app": {"id": folder.id, "name": folder.name},
            "harness": harness_of(choice.profile),
            "why": choice.why,
            "mode": route.mode if route is not None else None,
            "supported": route is not None,
            "ladder": [one.to_wire() for one in choice.ladder.rungs],
            "running": running.to_public() if running is not None else None,
            "tasksWaiting": work["tasksWaiting"],
            "agentWork": work,
            "config": str(setting.file.path) if setting.file is not None else None,
            "profiles": [one.id for one in setting.profiles],
        }
    )
    tell_ladder(choice.profile, [one.to_wire() for one in choice.ladder.rungs], is_usable=route is not None)
    if found is not None and running is None:
        note(
            "A bridge ran and is gone without having ended; `bridge start` or `bridge stop` clears what it left."
        )
    elif running is not None:
        note(
            "A process that lives is no proof that work arrives: the log and the app's tasks say what became of it."
        )
    else:
        note("No bridge runs. A rung that can be used delivers nothing by itself: `bridge start` does.")
        if route is not None:
            note(f"  next: {command_line('agent-app', str(folder.path), 'bridge', 'start')}")
    for line in last_lines(folder.state / "bridge.log", _LOG_LINES):
        note(f"  log: {line}")
    return 0


def harness_of(profile: Profile | None) -> JsonObject | None:
    """A harness as the programs print it."""
    return None if profile is None else {"id": profile.id, "name": profile.name}


def tell_ladder(profile: Profile | None, ladder: list[JsonObject], *, is_usable: bool) -> None:
    """Says each rung on a line of its own, and that there is none where there is none."""
    for rung in ladder:
        mark = "can be used" if rung["available"] else "cannot be used"
        note(f"  {rung['mode']}: {mark}. {printable(rung['detail'], longest=400)}")
    if not is_usable:
        place = printable(a2app_home() / "harnesses.json")
        note(
            f"  none: {NO_RUNG}"
            + ("" if profile else f" Install a harness, or write a profile into {place}.")
        )
