"""Carries out one operation. What needs an approval is never approved from here: the line to do so is printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast
from urllib.parse import quote

from inspan.apps.client import JsonObject
from inspan.apps.faults import Misused, Rejected
from inspan.apps.files import read_json
from inspan.apps.programs.screen import note, print_lines, printable

from .answers import refusal
from .labels import objects_in
from .session import Session
from .values import Fields, read_json_object, resolve_values, value_of_text
from .writing import idempotency_headers, write

__all__ = ["Call", "run_operation"]


class Call(NamedTuple):
    """What was given with the path.

    Attributes:
        approval: The key of an approval.
        idempotency_key: The caller's own key, under which the app does it once.
        blob: The arguments as one JSON object.
        flags: Arguments one by one; each goes over the same one in `blob`.
    """

    approval: str | None
    idempotency_key: str | None
    blob: str | None
    flags: list[tuple[str, str]]

    @property
    def is_given(self) -> bool:
        """Whether there is anything that only an operation takes."""
        return bool(self.flags) or any(
            one is not None for one in (self.approval, self.idempotency_key, self.blob)
        )


def run_operation(session: Session, steps: Sequence[str], operation: JsonObject, call: Call) -> int:
    """Asks the app to do it; prints the result, or what is in the way. Gives the exit status.

    Args:
        session: The app.
        steps: The path; its last step is the operation. A record's id before it becomes the parameter that
            refers to the record's entity.
        operation: The operation's row of its level.
        call: What was given with it.

    Raises:
        Misused: The arguments cannot be put together.
        Rejected: The app says that the operation does not apply to the record, or a label is not clear.
    """
    name = steps[-1]
    params = _params(session, operation)
    given = read_json_object(call.blob, "json") if call.blob is not None else {}
    for flag, text in call.flags:
        given[flag] = value_of_text(text, params.get(flag))
    if len(steps) == 4:
        _check_applies(session, steps)
        _fill_record(given, params, steps)
    values = resolve_values(session, given, params)
    headers = idempotency_headers(call.idempotency_key)
    if call.approval is not None:
        if not call.approval.isascii() or not call.approval.isprintable():
            raise Misused("--approve takes the key of the answer.", hint=session.command(*steps))
        headers["X-A2App-Approval"] = call.approval
    reply = write(session, "POST", f"/api/ops/{quote(name, safe='')}", values, headers)
    approval: object = reply.body.get("approvalKey")
    again = [f"--{flag}={text}" for flag, text in call.flags]
    blob = ["--json", call.blob] if call.blob is not None else []
    key = ["--idempotency-key", call.idempotency_key] if call.idempotency_key is not None else []
    if reply.status == 428 and isinstance(approval, str):
        print_lines(
            [
                f"approval_required: {printable(name, longest=80)} cannot be undone, so nothing was done yet.",
                f"approval key {printable(approval, longest=200)}",
                "",
                "next, if whoever is entitled to agrees",
                f"  {session.command(*steps, *again, *blob, *key, '--approve', approval)}",
            ]
        )
        note("a2app: approval_required: this program never approves by itself.")
        return 1
    if not reply.is_ok:
        refusal(reply)
        if reply.code in ("missing_required", "unknown_field"):
            known = [part for key in params for part in (f"--{printable(key, longest=80)}", "VALUE")]
            note(f"  next: {session.command(*steps, *known)}")
        elif reply.status == 428:
            note(f"  next: {session.command(*steps, *again, *blob, *key)}")
        return 1
    import json

    result = printable(json.dumps(reply.body.get("result"), ensure_ascii=False), longest=100_000)
    place = steps[:-1]
    print_lines(
        [
            f"{printable(name, longest=80)} done",
            "",
            "result",
            f"  {result}",
            "",
            "next",
            f"  {session.command(*place)}",
        ]
    )
    return 0


def _params(session: Session, operation: JsonObject) -> Fields:
    """The parameters' definitions: of the level, else of the app's own file where it is on this machine."""
    params: object = operation.get("params")
    if not isinstance(params, dict) and session.target.folder is not None:
        try:
            value = read_json(session.target.folder.path / "operations.json")
        except (OSError, ValueError):
            value = None
        found = objects_in(cast("dict[str, Any]", value), "operations") if isinstance(value, dict) else []
        params = next((one.get("params") for one in found if one.get("name") == operation.get("name")), None)
    if not isinstance(params, dict):
        return {}
    return {
        name: cast(JsonObject, field)
        for name, field in cast("dict[str, object]", params).items()
        if isinstance(field, dict)
    }


def _check_applies(session: Session, steps: Sequence[str]) -> None:
    reply = session.describe(*steps[:3])
    for row in objects_in(reply.body if reply.is_ok else {}, "operations"):
        if row.get("name") == steps[3] and row.get("available") is False:
            raise Rejected(
                f"{printable(steps[3], longest=80)} is blocked: {printable(row.get('blocked', 'it does not apply'), longest=200)}",
                hint=session.command(*steps[:3]),
            )


def _fill_record(given: JsonObject, params: Fields, steps: Sequence[str]) -> None:
    _, entity, record, name = steps
    fitting = [
        key for key, field in params.items() if field.get("type") == "ref" and field.get("entity") == entity
    ]
    needed = [key for key in fitting if params[key].get("required")]
    chosen = needed if len(needed) == 1 else fitting
    if any(given.get(key) == record for key in fitting):
        return
    open_ones = [key for key in chosen if key not in given]
    if len(open_ones) == 1:
        given[open_ones[0]] = record
        return
    which = ", ".join(f"--{printable(key, longest=80)}" for key in fitting) or "none of its parameters"
    raise Misused(
        f"Which parameter of {printable(name, longest=80)} means the record is not clear: {which}.",
        hint="Give it by name, after MODULE ENTITY OPERATION.",
    )
