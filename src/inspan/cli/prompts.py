"""Prompts on their way out: where the text comes from, and how it is queued exactly once."""

from __future__ import annotations

import sys

from inspan.model.errors import InspanError, UsageError
from inspan.model.ids import new_id

from .context import Context, at
from .fields import Json, record

__all__ = ["queue_prompt", "read_prompt"]

_HOW = "Give it as the last words of the command, or pipe it in: `… < task.md`."


def read_prompt(words: list[str]) -> str:
    """The prompt: the words of the command line, or standard input for `-` and for none.

    Raises:
        UsageError: There is no text.
    """
    if words and words != ["-"]:
        prompt = " ".join(words)
    elif not words and sys.stdin.isatty():
        raise UsageError("There is no prompt.", hint=_HOW)
    else:
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not prompt.strip():
        raise UsageError("The prompt is empty.", hint=_HOW)
    return prompt


def queue_prompt(
    context: Context,
    seat: str,
    prompt: str,
    *,
    delivery: str | None = None,
    request: str | None = None,
    now: bool = False,
    override: str = "",
    key: str | None = None,
) -> Json:
    """Queues `prompt`, signed with `key` where one is given, and gives the delivery's view.

    The id is chosen here where the caller names none. So a daemon that dies before it answers is asked again
    without a risk: the same id reads back what became of the prompt.
    """
    chosen: Json = {"request": request, "now": now or None, "override": override or None}
    body: Json = {"text": prompt, "id": delivery or new_id("d")}
    body |= {field: value for field, value in chosen.items() if value is not None}
    if key is not None:
        from .signing import sign_send

        body["signature"] = sign_send(
            key,
            home=str(context.home.path),
            seat=seat,
            delivery=str(body["id"]),
            text=prompt,
            request=request or "",
            is_urgent=now,
            override=override,
        )
    try:
        return record(context.call("POST", at("seats", seat, "prompts"), body=body))
    except InspanError as error:
        if error.code != "daemon_unreachable":
            raise
    return record(context.call("POST", at("seats", seat, "prompts"), body=body))
