"""`agent-app APP backup`, `restore`, `dev` and `promote`: states of an app, kept, tried and put back."""

from __future__ import annotations

from inspan.apps.backups import Backup, backups_of, restore_backup, take_backup
from inspan.apps.client import JsonObject
from inspan.apps.faults import Misused
from inspan.apps.files import locked
from inspan.apps.folder import Folder
from inspan.apps.programs.screen import note, print_json, warn
from inspan.apps.programs.words import Words, command_line
from inspan.apps.registry import Registry
from inspan.apps.trying import promote, try_change

__all__ = [
    "BACKUP_USAGE",
    "DEV_USAGE",
    "PROMOTE_USAGE",
    "RESTORE_USAGE",
    "run_backup",
    "run_dev",
    "run_promote",
    "run_restore",
]

BACKUP_USAGE = "agent-app APP backup [list] [--reason TEXT]"
RESTORE_USAGE = "agent-app APP restore BACKUP"
DEV_USAGE = "agent-app APP dev"
PROMOTE_USAGE = "agent-app APP promote"


def run_backup(folder: Folder, words: Words) -> int:
    """Takes a backup, or lists those that there are; gives the exit status.

    Raises:
        Rejected: It could not be taken.
    """
    lists = words.places == ["list"]
    reason = words.one("reason")
    words.done(places=1 if lists else 0, usage=BACKUP_USAGE)
    if lists:
        print_json({"ok": True, "id": folder.id, "backups": [_shown(one) for one in backups_of(folder)]})
        return 0
    print_json({"ok": True, "id": folder.id, "backup": _shown(take_backup(folder, reason or "asked for"))})
    return 0


def run_restore(folder: Folder, words: Words) -> int:
    """Puts a backup back; gives the exit status.

    Raises:
        Misused: None is named, or there is none of that name.
        Rejected: The app runs, or the backup is damaged.
    """
    if not words.places:
        raise Misused("No backup is named.", hint=BACKUP_USAGE.replace("[list] [--reason TEXT]", "list"))
    words.done(places=1, usage=RESTORE_USAGE)
    with locked(folder.state / "serve.lock"):
        restored, before = restore_backup(folder, words.places[0])
    print_json({"ok": True, "id": folder.id, "restored": _shown(restored), "before": _shown(before)})
    return 0


def run_dev(folder: Folder, ref: str, words: Words) -> int:
    """Tries the code as it is now beside the app; gives the exit status.

    Raises:
        Rejected: It does not build or start.
    """
    words.done(places=0, usage=DEV_USAGE)
    trial = try_change(folder)
    value: JsonObject = {
        "ok": True,
        "id": folder.id,
        "name": folder.name,
        "url": trial.url,
        "pid": trial.pid,
        "port": trial.port,
        "bootDir": trial.boot_folder,
    }
    print_json(value)
    note("note: until it is promoted or stopped, a2app operates this trial, with records of its own.")
    note(f"  next: {command_line('agent-app', ref, 'validate')}")
    return 0


def run_promote(folder: Folder, words: Words, registry: Registry) -> int:
    """Puts the change that was tried in the app's place; gives the exit status.

    Raises:
        Rejected: It did not pass the gate, or something failed.
    """
    words.done(places=0, usage=PROMOTE_USAGE)
    done = promote(folder, registry, warn=warn)
    value: JsonObject = {
        "ok": True,
        "id": folder.id,
        "name": folder.name,
        "url": done.served.url,
        "pid": done.served.pid,
        "port": done.served.port,
        "backup": _shown(done.backup) if done.backup is not None else None,
    }
    print_json(value)
    return 0


def _shown(backup: Backup) -> JsonObject:
    return {
        "id": backup.id,
        "createdAt": backup.created_at,
        "reason": backup.reason,
        "files": len(backup.files),
        "path": str(backup.path),
    }
