"""Checks of what a caller asks of the seats, before anything is decided."""

from __future__ import annotations

import hashlib
from pathlib import Path

from inspan.model.errors import UsageError
from inspan.model.views import SendPrompt
from inspan.store import DeliveryRecord

__all__ = ["check_same", "check_workspace"]


def check_workspace(given: str) -> str:
    """The workspace, if it is an existing folder. Raises `workspace_missing`, `workspace_not_a_folder`."""
    path = Path(given)
    if not path.is_absolute():
        raise UsageError(f"The workspace {given!r} is not an absolute path.", hint="Give the whole path.")
    if not path.exists():
        raise UsageError(
            f"The workspace {given} does not exist.",
            code="workspace_missing",
            hint="Create the folder first.",
        )
    if not path.is_dir():
        raise UsageError(
            f"The workspace {given} is not a folder.",
            code="workspace_not_a_folder",
            hint="Name the folder that the file is in.",
        )
    return str(path)


def check_same(known: DeliveryRecord, seat: str, asked: SendPrompt) -> None:
    """Refuses a delivery's id that was used for something else. Raises `delivery_conflict`."""
    digest = hashlib.sha256(asked.text.encode("utf-8", "surrogatepass")).hexdigest()
    is_other = asked.request not in (None, known.request)
    if known.seat != seat or known.text_hash != digest or is_other:
        what = "for another request" if is_other else "with another text"
        what = "for another seat" if known.seat != seat else what
        raise UsageError(
            f"The delivery id {known.id} was used before {what}.",
            code="delivery_conflict",
            hint="Use a new id for a new prompt; the same id only reads the outcome back.",
            retry_safe=False,
            detail={"delivery": known.id},
        )
