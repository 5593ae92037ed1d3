"""Every error that Inspan raises, grouped by who must act.

```
InspanError
├── UsageError          the caller: an argument, a name, an id, an answer that came too late
├── ManifestError       the harness author: a manifest that cannot be read as it stands
├── PluginError         the plugin author: missing, incompatible, unsupported, failed
├── HarnessError        the harness's vendor or its login: not installed, refused, exited
├── StoreError          the operator: disk, lock, version of the log
└── HostError           the operator: holder, daemon, socket, home folder
```

Each error has a stable `code`, the same on the wire, in `--json` and in the docs; `retry_safe` says
whether the same call may be made again unchanged without a risk that its effect happens twice.
Messages state the fact; `hint` states the next thing to do.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "ERROR_CODES",
    "HarnessError",
    "HolderError",
    "HostError",
    "InspanError",
    "ManifestError",
    "PluginError",
    "StoreError",
    "UsageError",
    "error_from_wire",
    "error_to_wire",
]

ERROR_CODES: dict[str, str] = {
    # UsageError
    "invalid_argument": "An argument has a wrong form.",
    "unknown_harness": "No harness of this id is registered.",
    "unknown_mode": "The harness has no such mode.",
    "unknown_seat": "No seat of this name exists.",
    "unknown_delivery": "No delivery of this id exists.",
    "unknown_permission": "No permission request of this id exists.",
    "unknown_turn": "No turn of this id exists.",
    "seat_exists": "A seat of this name exists already.",
    "seat_not_running": "The seat has no running launch.",
    "seat_running": "The seat has a running launch, and the call needs it stopped.",
    "workspace_missing": "The workspace folder does not exist.",
    "workspace_not_a_folder": "The workspace is not a folder.",
    "delivery_conflict": "The delivery id was used before with another text or seat.",
    "delivery_final": "The delivery can no longer be withdrawn.",
    "unknown_request": "No request of this id exists.",
    "request_settled": "The request is settled.",
    "request_open": "An attempt at the request is under way, or about to begin.",
    "guidance_has_place": "The harness reads guidance from a file, so it is given none as a turn.",
    "guidance_too_large": "The guidance is over what the harness is given as a first turn.",
    "handoff_needs_context": "The harness does not go on with a request by its prompt alone.",
    "handed_off": "The prompt was taken out of the queue, since its request was handed off to another seat.",
    "delivery_unsupported": "The mode takes no prompts: its console is only watched.",
    "no_terminal": "The seat has no terminal now.",
    "writer_exists": "Somebody else is attached to the terminal and may type.",
    "not_the_writer": "Only who is attached with the keyboard may type or resize.",
    "message_has_controls": "The message has control characters, which could press keys in a console.",
    "message_is_command": "The message begins as a command of the console, which no model would get.",
    "message_has_newlines": "The message has several lines, and the console takes no paste.",
    "signature_invalid": "The signature that a prompt came with does not count.",
    "signing_unavailable": "OpenSSH's ssh-keygen is not there, or did not sign.",
    "typing_touched": "A person typed into the input line before the prompt in it was submitted.",
    "typing_swallowed": "Text that was typed did not show up in the console's input line.",
    "submit_ignored": "The keys that submit a prompt were not taken by the console.",
    "command_unclear": "A command of a console was submitted, and nobody knows what the console shows since then.",
    "hooks_unknown": "Nobody said how the harness's hooks are read, or where it is told of ours.",
    "hooks_file_invalid": "An operator's file of hooks or servers cannot be read or merged, and was left as it is.",
    "hooks_file_read_only": "An operator's hooks file cannot be written, and was left as it is.",
    "app_profile_missing": "The harness has no way to be run once that a bridge of apps could use.",
    "app_demo_failed": "A step of the demonstration of apps did not come about.",
    "mcp_unsupported": "The harness's manifest names no file for MCP servers.",
    "mcp_server_taken": "The harness's file has a server of our name that is not ours, and was left as it is.",
    "hooks_file_changed": "An operator's hooks file was changed while it was merged, and was left as it is.",
    "permission_closed": "The permission request was answered or has ended.",
    "permission_of_other_seat": "The permission request belongs to another seat.",
    "permission_option_unknown": "The permission request offers no such option.",
    "no_turn": "No turn is running.",
    "turn_running": "The session of the own agent is in the middle of a turn.",
    "session_closed": "The session of the own agent is closed.",
    "agent_closed": "The own agent is closed.",
    "option_unknown": "The session offers no such mode, option or value.",
    "unknown_question": "No open question of this id exists.",
    "question_closed": "The question was answered or has ended.",
    "question_of_other_seat": "The question belongs to another seat.",
    "unknown_skill": "The agent has no skill of this name.",
    "answer_invalid": "The answer does not fit the form that was asked.",
    "session_of_other_workspace": "The session belongs to another workspace.",
    "nothing_held": "No prompt is held that a release would send.",
    "nothing_to_run": "No prompt waits that a one-shot run could take.",
    "posture_unsupported": "The harness cannot honour this posture in this mode.",
    "saved_rules_invalid": "A variable that a posture is merged with holds no rules that can be read.",
    "prompt_too_large": "The prompt does not fit into one frame.",
    "isolation_unsupported": "Nothing is known to give the harness a configuration folder of its own.",
    "isolation_required": "Seats of the harness must not share a configuration folder.",
    "resource_outside": "A place of resources leads out of the workspace.",
    "position_ahead": "The position is ahead of the log: it belongs to another home.",
    "body_too_large": "The body of the request is over the cap.",
    "resume_decision_needed": "The conversation cannot be resumed; the operator must decide.",
    "plugin_config_invalid": "The configuration of runtime plugins cannot be used.",
    "plugin_config_in_project": "A project's own files name runtime plugins, which only the user's may.",
    "interrupted": "Ctrl-C ended the command; what the daemon was asked to do goes on.",
    # ManifestError
    "manifest_invalid": "A manifest has an unknown key, a wrong type or a bad value.",
    "manifest_unreadable": "A manifest file cannot be read.",
    "screen_rules_invalid": "The screen rules of a console cannot be used.",
    "manifest_conflict": "Two manifests claim the same id.",
    "recording_invalid": "A recording cannot be read.",
    # PluginError
    "plugin_missing": "The plugin that a manifest names is not there.",
    "plugin_incompatible": "The plugin speaks another version of the plugin protocol.",
    "plugin_not_permitted": "The plugin wants something that its manifest does not say that it may.",
    "plugin_untrusted": "The plugin's code comes from outside and was not trusted.",
    "plugin_failed": "The plugin raised an error or died.",
    "plugin_timeout": "The plugin did not answer in time.",
    "plugin_refused": "The plugin refused the request, with its reason.",
    "plugin_conflict": "A runtime plugin wants a name or an id that is taken.",
    "plugin_contribution_invalid": "What a runtime plugin registers cannot be used.",
    "plugin_setup_over": "A runtime plugin registers something after its setup.",
    "plugin_stopped": "The runtime plugin that is called has stopped.",
    "unsupported_capability": "The harness does not offer this operation.",
    # HarnessError
    "not_installed": "The harness's program was not found.",
    "probe_failed": "The harness's program did not answer its probe.",
    "runtime_unfit": "A program that the harness needs beside its own is missing or too old; an advisory.",
    "version_untested": "The program's version lies outside the range that was tried; an advisory, never a refusal.",
    "launch_failed": "The harness could not be started.",
    "harness_exited": "The harness's process has ended.",
    "protocol_version": "The harness speaks another version of its protocol.",
    "protocol_fault": "The harness broke its protocol.",
    "frame_too_large": "A frame is over the cap.",
    "handshake_timeout": "The harness did not finish its handshake in time.",
    "auth_required": "The harness wants its person to sign in.",
    "auth_withheld": "Variables that sign in are set, and are handed to a seat only on request; an advisory.",
    "limited": "The harness reached a usage limit.",
    "session_missing": "The harness does not know the session.",
    "agent_extra_missing": "Libraries that the own agent needs are not installed.",
    "model_missing": "No model is chosen, and no provider's key is set.",
    "model_unknown": "There is no such model.",
    "model_key_missing": "No key of the model's provider is set.",
    "model_failed": "A request to the model failed.",
    "session_in_use": "The session is active elsewhere.",
    "active_run": "The harness says that an earlier turn still runs.",
    "wedged": "The harness is stuck, by what it says itself.",
    "session_failed": "The harness could not open the session.",
    "call_failed": "The harness answered with an error.",
    "call_timeout": "The harness did not answer a call in time.",
    # StoreError
    "store_locked": "The log is locked by another process.",
    "store_full": "There is no room on the disk.",
    "store_read_only": "The log cannot be written.",
    "store_corrupt": "The log is damaged.",
    "store_newer": "The log was written by a newer version.",
    "store_failed": "The log refused a write.",
    # HostError
    "daemon_running": "A daemon serves this home already.",
    "daemon_unreachable": "No daemon answers on this home.",
    "daemon_stopping": "The daemon is stopping.",
    "daemon_version": "The daemon is of another version.",
    "home_read_only": "The home folder cannot be written.",
    "config_not_writable": "A seat's configuration folder cannot be written.",
    "home_insecure": "The home folder is open to others.",
    "socket_path_too_long": "The path of a Unix socket is over the system's limit.",
    "slow_client": "The client read too slowly and was cut.",
    "holder_failed": "The holder could not be started.",
    "holder_refused": "The holder refused the connection or the request.",
    "holder_lost": "The holder is gone.",
    "holder_timeout": "The holder did not answer in time.",
    "unauthorized": "The request carried no valid token.",
    "internal": "A fault in Inspan itself.",
}
"""Stable code to its one-line meaning; the reference page in `docs/errors.md` is made from it."""


class InspanError(Exception):
    """The root of all errors that Inspan raises on purpose.

    Attributes:
        code: A key of `ERROR_CODES`, stable across versions.
        message: The fact, in one sentence.
        hint: The next thing to do; may be empty.
        retry_safe: Whether repeating the call unchanged cannot do its effect twice.
        detail: Further JSON values (file, key path, ids); never secrets.
    """

    group: ClassVar[str] = "inspan"
    default_code: ClassVar[str] = "internal"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str = "",
        retry_safe: bool = True,
        detail: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code or self.default_code
        self.message = message
        self.hint = hint
        self.retry_safe = retry_safe
        self.detail: dict[str, Any] = dict(detail or {})

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class UsageError(InspanError):
    """The caller must act: nothing was done."""

    group = "usage"
    default_code = "invalid_argument"


class ManifestError(InspanError):
    """The harness author must act.

    `detail` holds `file`, `key_path` and `expected` where they are known.
    """

    group = "manifest"
    default_code = "manifest_invalid"


class PluginError(InspanError):
    """The plugin author must act."""

    group = "plugin"
    default_code = "plugin_failed"


class HarnessError(InspanError):
    """The harness, its vendor or its login must act."""

    group = "harness"
    default_code = "call_failed"


class StoreError(InspanError):
    """The operator must act: the log could not be read or written."""

    group = "store"
    default_code = "store_failed"


class HostError(InspanError):
    """The operator must act: holder, daemon, sockets or the home folder."""

    group = "host"
    default_code = "internal"


class HolderError(HostError):
    """A holder could not be started, reached or asked."""

    default_code = "holder_failed"


_GROUPS: dict[str, type[InspanError]] = {
    cls.group: cls for cls in (UsageError, ManifestError, PluginError, HarnessError, StoreError, HostError)
}


def error_to_wire(error: BaseException) -> dict[str, Any]:
    """The JSON object that carries `error` over HTTP, JSON-RPC `data` and `--json`.

    An exception of another kind becomes `internal`, with its type but not its text, which may quote secrets.
    """
    if isinstance(error, InspanError):
        return {
            "code": error.code,
            "group": error.group,
            "message": error.message,
            "hint": error.hint,
            "retry_safe": error.retry_safe,
            "detail": error.detail,
        }
    return {
        "code": "internal",
        "group": "host",
        "message": f"Inspan failed with {type(error).__name__}.",
        "hint": "See `inspan daemon logs`.",
        "retry_safe": False,
        "detail": {},
    }


def error_from_wire(value: dict[str, Any]) -> InspanError:
    """The error that `error_to_wire` wrote, as the class of its group."""
    cls = _GROUPS.get(str(value.get("group", "")), InspanError)
    detail = value.get("detail")
    return cls(
        str(value.get("message", "unknown error")),
        code=str(value.get("code", "internal")),
        hint=str(value.get("hint", "")),
        retry_safe=bool(value.get("retry_safe", False)),
        detail=detail if isinstance(detail, dict) else {},  # pyright: ignore[reportUnknownArgumentType]
    )
