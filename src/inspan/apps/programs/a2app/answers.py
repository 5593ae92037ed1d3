"""An app's no, said twice: its own words on standard output, and what they mean on standard error."""

from __future__ import annotations

from inspan.apps.client import Reply
from inspan.apps.programs.screen import note, print_json, printable

from .labels import objects_in

__all__ = ["print_reply", "refusal", "refusal_lines"]

_MOST_VIOLATIONS = 20


def print_reply(reply: Reply) -> int:
    """Prints the answer as the app gave it; the exit status that it stands for: 0, or 1 for a no."""
    if not reply.is_ok:
        return refusal(reply)
    print_json(reply.body or {"a2app": True, "ok": True})
    return 0


def refusal(reply: Reply) -> int:
    """Prints an app's no, and says it; the exit status is 1."""
    print_json(reply.body or {"a2app": False, "ok": False, "status": reply.status})
    for line in refusal_lines(reply):
        note(line)
    return 1


def refusal_lines(reply: Reply) -> list[str]:
    """An app's no as lines for whoever reads standard error."""
    body = reply.body
    if not body:
        return [f"a2app: the app answered with status {reply.status} and no JSON object."]
    message = printable(body.get("message", ""), longest=400)
    lines = [f"a2app: {printable(reply.code or f'status {reply.status}', longest=80)}: {message}"]
    for one in objects_in(body, "violations")[:_MOST_VIOLATIONS]:
        said = " ".join(
            f"{key}={printable(one[key], longest=120)}" for key in ("field", "expected", "got") if key in one
        )
        lines.append(f"  {printable(one.get('code', 'violation'), longest=80)} {said}")
    how: object = body.get("how")
    if isinstance(how, str):
        lines.append(f"  next: {printable(how, longest=400)}")
    wait: object = body.get("retryAfterSeconds")
    if isinstance(wait, (int, float)):
        lines.append(f"  next: try again in {wait:g} s")
    return lines
