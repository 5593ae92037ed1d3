"""Entries: the relay's command line, and the text by which a harness is told to run it."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from inspan.model.hooks import HookInstall

from . import relay

__all__ = ["MARKER", "MARKER_BEGIN", "command_line", "render_document", "render_entry"]

MARKER_BEGIN = "inspan-hook"
MARKER = f"{MARKER_BEGIN}/1"
"""Stands in every command of ours, so that it is known again; the relay does not look at it."""

_PLACEHOLDER = re.compile(r"\{(command|event)\}")


def command_line(event: str, *, made: Sequence[str] = ()) -> str:
    """What a harness runs for an event, as a shell reads it.

    Outside a seat the shell itself sees that there is nothing to do. And whatever becomes of the relay, even where it
    was removed, the command ends with status 0: several harnesses take another for an order to stop.

    Args:
        event: Its name.
        made: What of the file around the entry was made for it, and goes again with it.
    """
    relay_file = str(Path(relay.__file__).resolve())
    words = [sys.executable, "-I", "-S", relay_file, event, MARKER, *(f"+{one}" for one in made)]
    return f'[ -z "$INSPAN_HOOKS" ] || {shlex.join(words)} 2>/dev/null || true'


def render_entry(install: HookInstall, event: str, *, made: Sequence[str] = ()) -> str:
    """An event's entry in a file."""
    command = command_line(event, made=made)
    quoted = command if install.format == "file" else json.dumps(command)[1:-1]
    values = {"command": quoted, "event": event}
    return _PLACEHOLDER.sub(lambda found: values[found[1]], install.entry)


def render_document(install: HookInstall, events: Sequence[str]) -> str:
    """The whole text of a file that holds nothing but ours."""
    if install.format != "json":
        return "\n".join(render_entry(install, event) for event in events) + "\n"
    arrays = ",\n".join(f"{json.dumps(event)}: [{render_entry(install, event)}]" for event in events)
    text = "{\n" + arrays + "\n}"
    for key in reversed(install.under):
        text = f"{{{json.dumps(key)}: {text}}}"
    members = ", ".join(f"{json.dumps(key)}: {value}" for key, value in install.preamble.items())
    return (text if not members else "{" + members + ", " + text[1:]) + "\n"
