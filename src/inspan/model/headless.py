"""Headless settings: how a one-shot run takes its prompt, and how its output is read, as data.

What its records mean is said by record rules, see `inspan.model.records`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from .diagnosis import DiagnosisCode
from .records import Path, RecordRule

__all__ = ["ExitCode", "HeadlessSettings", "LineRule", "ProgramGrant"]

EnvName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class ExitCode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an exit status means where no result record came.

    Attributes:
        status: The exit status.
        code: Our code for it.
        title: The failure in a few words.
        remedy: The next thing to do.
        source: Where the fact comes from.
        verified: Date and version.
    """

    status: Annotated[int, msgspec.Meta(ge=0, le=255)]
    code: DiagnosisCode
    title: Annotated[str, msgspec.Meta(min_length=1)]
    remedy: Annotated[str, msgspec.Meta(min_length=1)]
    source: str = ""
    verified: str = ""


class LineRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a line of plain text means: one that is no record, or any line of a text output.

    Attributes:
        pattern: Regular expression that begins to match at the line's beginning. The first rule that matches
            counts.
        means: `noise` is kept apart from the answer. An `error` counts only where the exit status says that the
            run failed; its message is the line, and its first group, where there is one, an HTTP status.
    """

    pattern: Annotated[str, msgspec.Meta(min_length=1)]
    means: Literal["noise", "error"]


class ProgramGrant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a one-shot run is told that it may run one program unasked, whatever that program's arguments.

    It stands in the place of a posture. `{program}` is replaced by the program's name; nothing else is.

    Attributes:
        reach: What the run may then do unasked: start that `program` and nothing more; whatever the harness's own
            `sandbox` confines to the workspace; or `everything`, for a harness that knows no middle.
        args: Further arguments.
        environment: Further variables.
        merges: As in a posture: which of them hold JSON that is merged with what the operator set, and how.
        inherits: Names of the operator's own variables that count for such a run and are no sign-in, such as one by
            which a folder is trusted; handed on where they are set.
        source: Where the fact comes from.
        verified: Date and version.
    """

    reach: Literal["program", "sandbox", "everything"]
    args: tuple[str, ...] = ()
    environment: dict[EnvName, str] = {}
    merges: dict[EnvName, Literal["rules", "settings"]] = {}
    inherits: tuple[EnvName, ...] = ()
    source: str = ""
    verified: str = ""


class HeadlessSettings(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What the `headless` transport must know.

    Attributes:
        prompt: How the prompt goes in. By `stdin`, which then ends; or as the last `argument`, for a harness that
            reads nothing: a shell waits for it on standard input and becomes the harness. Other users of the
            machine can read the arguments of a process, and the system limits their length (128 KiB on Linux).
        prompt_option: What stands in front of the prompt within that argument, such as `--query=`, so that a
            prompt which begins with a dash is no option.
        output: `records` is one JSON object a line; `document` is one JSON object over many lines, a record that
            comes with the run's end; `text` is the answer itself.
        kind: Where a record says of what kind it is.
        lines: What lines of plain text mean.
        records: The rules. Where none of them `ends` the turn, the process's exit does.
        stderr_session: Regular expression whose first group is the session's id, searched in the end of the
            standard error once the process has ended.
        chooses_session: Core makes the session's id, a random UUID, and gives it as `{session}` in
            `launch.args`. An id that the harness reports is preferred.
        exit_codes: What exit statuses mean.
        grant: How a run is let run one program unasked; none where nobody knows.
    """

    prompt: Literal["stdin", "argument"] = "stdin"
    prompt_option: str = ""
    output: Literal["records", "document", "text"] = "records"
    kind: Path = "type"
    lines: tuple[LineRule, ...] = ()
    records: tuple[RecordRule, ...] = ()
    stderr_session: str = ""
    chooses_session: bool = False
    exit_codes: tuple[ExitCode, ...] = ()
    grant: ProgramGrant | None = None
