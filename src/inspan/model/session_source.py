"""Session sources: where the id of a new session comes from, as data."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

__all__ = ["SessionCommand", "SessionSource", "SessionStore"]

EnvName = Annotated[str, msgspec.Meta(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class SessionCommand(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A run of the mode's program before the launch, which makes a session and says its id.

    Attributes:
        args: Its arguments; `{workspace}` is replaced, and is the working folder.
        pattern: Regular expression whose group `session` is the id; searched in what it wrote.
        timeout_s: Seconds until it is given up.
    """

    args: tuple[str, ...]
    pattern: Text = r"(?P<session>\S+)"
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 30.0


class SessionStore(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The harness's own folder of sessions, looked at once its process has ended.

    Attributes:
        folder: Where it is, absolute or with `~`; `{config}` is the harness's configuration folder, `{workspace_name}`
            the workspace's path with every character that is no letter and no digit as a dash.
        files: Which files are sessions, as a pattern of names: `*` and `**`.
        id_pattern: Regular expression whose group `session` is the id; searched in the file's path below the folder.
        workspace_pattern: Regular expression whose group `workspace` is the session's folder; searched in the
            beginning of the file. Only sessions of the seat's own folder count. Empty where `folder` says it.
    """

    folder: Text
    files: Text
    id_pattern: Text = r"(?P<session>[^/]+)\.[^/.]+$"
    workspace_pattern: str = ""


class SessionSource(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Where the id of a new session comes from in one mode.

    Attributes:
        kind: `protocol`: the transport reads it from what the harness says. `chosen`: core makes a random UUID and gives
            it as `{session}` in `launch.args`. `environment`: likewise, in the variable `variable`. `command`: a run
            before the launch makes the session, and `launch.args` names it as `{session}`. `screen`: the last that
            the harness wrote before it ended holds it. `store`: the harness's own folder holds it. `hook`: its own
            hooks tell it, while it runs; only of a console.
        variable: For `environment`, and for a resume as well.
        command: For `command`.
        pattern: For `screen`: regular expression with a group `session`; the last match counts.
        store: For `store`.
        source: Where the fact comes from.
        verified: Date and version.
    """

    kind: Literal["protocol", "chosen", "environment", "command", "screen", "store", "hook"] = "protocol"
    variable: EnvName = ""
    command: SessionCommand | None = None
    pattern: str = ""
    store: SessionStore | None = None
    source: str = ""
    verified: str = ""
