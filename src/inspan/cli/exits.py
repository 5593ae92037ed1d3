"""Exit statuses: every one that `inspan` can end with, and which error or outcome leads to which."""

from __future__ import annotations

from enum import IntEnum

from inspan.model.errors import InspanError

__all__ = [
    "EXIT_MEANINGS",
    "Exit",
    "exit_of_delivery",
    "exit_of_error",
    "exit_of_outcome",
]


class Exit(IntEnum):
    """How the program ended. The numbers are an interface: they never change their meaning."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    UNKNOWN_NAME = 3
    CONFLICT = 4
    REFUSED = 10
    LIMITED = 11
    CANCELLED = 12
    FAILED = 13
    LOST = 14
    NEEDS_PERSON = 15
    TIMEOUT = 16
    NO_DAEMON = 20
    STORE = 21
    PLUGIN = 22
    HARNESS = 23
    INTERRUPTED = 130
    BROKEN_PIPE = 141


EXIT_MEANINGS: dict[Exit, str] = {
    Exit.OK: "Done; for `run` and `send --wait`: the turn completed.",
    Exit.INTERNAL: "A fault in Inspan itself, or a check of `doctor` or `demo` that failed.",
    Exit.USAGE: "The command line, or a value in it, has a wrong form. Nothing was done.",
    Exit.UNKNOWN_NAME: "No harness, mode, seat, delivery, turn or permission request of that name exists.",
    Exit.CONFLICT: "The state forbids it: the name is taken, the request is closed, nothing runs, somebody else has the keyboard.",
    Exit.REFUSED: "`run`, `send`: the harness or its model declined the prompt, or it was withdrawn.",
    Exit.LIMITED: "`run`, `send --wait`: a usage limit or a budget ended the turn.",
    Exit.CANCELLED: "`run`, `send --wait`: the turn was cancelled, and the harness confirmed it.",
    Exit.FAILED: "`run`, `send --wait`: an error or the harness's exit ended the turn.",
    Exit.LOST: "`run`, `send --wait`: the connection ended before a result, or the prompt may not have arrived.",
    Exit.NEEDS_PERSON: "`run`, `send --wait`, `start --wait`: a prompt is held, or time ran out while a person owed an answer.",
    Exit.TIMEOUT: "`run`, `watch --until`, and what takes `--wait`: time ran out; what was waited for goes on.",
    Exit.NO_DAEMON: "No daemon answers, or its home, its socket or a holder cannot be used.",
    Exit.STORE: "The log cannot be read or written, or `store check` found a fault.",
    Exit.PLUGIN: "A manifest, a recording or a plugin is at fault.",
    Exit.HARNESS: "The harness is not installed, wants a sign-in, answered with an error, or did not start (`start --wait`).",
    Exit.INTERRUPTED: "Ctrl-C.",
    Exit.BROKEN_PIPE: "Whoever read the output stopped reading.",
}
"""What each status says; the table in `docs/cli.md` is made from it."""

_CONFLICTS = frozenset(
    [
        "seat_exists",
        "seat_not_running",
        "seat_running",
        "delivery_conflict",
        "delivery_final",
        "request_settled",
        "request_open",
        "permission_closed",
        "permission_of_other_seat",
        "no_terminal",
        "no_turn",
        "not_the_writer",
        "nothing_to_run",
        "resume_decision_needed",
        "session_in_use",
        "hooks_file_changed",
        "hooks_file_invalid",
        "hooks_file_read_only",
        "manifest_conflict",
        "daemon_running",
        "writer_exists",
    ]
)
_GROUPS = {
    "usage": Exit.USAGE,
    "manifest": Exit.PLUGIN,
    "plugin": Exit.PLUGIN,
    "harness": Exit.HARNESS,
    "store": Exit.STORE,
    "host": Exit.NO_DAEMON,
}
_OUTCOMES = {
    "completed": Exit.OK,
    "refused": Exit.REFUSED,
    "limited": Exit.LIMITED,
    "cancelled": Exit.CANCELLED,
    "failed": Exit.FAILED,
    "lost": Exit.LOST,
}
_DELIVERIES = {
    "held": Exit.NEEDS_PERSON,
    "refused": Exit.REFUSED,
    "failed": Exit.FAILED,
    "unknown": Exit.LOST,
}


def exit_of_error(error: InspanError) -> Exit:
    """The status for an error, by its code and else by its group: by who must act."""
    if error.code == "internal":
        return Exit.INTERNAL
    if error.code == "interrupted":
        return Exit.INTERRUPTED
    if error.code in _CONFLICTS or error.code.endswith("_closed") or "_of_other_" in error.code:
        return Exit.CONFLICT
    if error.code.startswith("unknown_"):
        return Exit.UNKNOWN_NAME
    return _GROUPS.get(error.group, Exit.INTERNAL)


def exit_of_outcome(outcome: str) -> Exit:
    """The status for a turn's outcome; one that this version does not know counts as `lost`."""
    return _OUTCOMES.get(outcome, Exit.LOST)


def exit_of_delivery(state: str) -> Exit | None:
    """The status for a delivery that will have no turn, or `None` while it may still have one."""
    return _DELIVERIES.get(state)
