"""`conformance_kanban`: the small board that the checks are written for.

Serve it with `python -m inspan.apps.conformance.reference PORT FOLDER`, and any client can be tried on it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from inspan.apps.author import App, choice, day, flag, moment, number, ref, text
from inspan.apps.files import write_atomically
from inspan.apps.model.manifest import AGENT_APP_VERSION, MANIFEST, TOKEN
from inspan.apps.server.caller import Grant

__all__ = ["FULL_TOKEN", "READONLY_TOKEN", "make_reference_app", "queue_work", "write_folder"]

FULL_TOKEN = "a2app_conformance_full"  # noqa: S105 - a name that everybody may know
READONLY_TOKEN = "a2app_conformance_readonly"  # noqa: S105 - a name that everybody may know

_GRANTS = (
    Grant(token=FULL_TOKEN, credential_id="cred_full", agent_name="conformance"),
    Grant(
        token=READONLY_TOKEN,
        credential_id="cred_ro",
        agent_name="reporter",
        scopes=("data:cards:read", "data:lists:read"),
    ),
)


def make_reference_app(folder: Path, **options: Any) -> App:
    """The app, in a folder; `options` are further ones of `App`."""
    app = App("Conformance Kanban", folder=folder, app_id="conformance_kanban", grants=_GRANTS, **options)
    board = app.module("board", "Lists and the cards on them.")
    board.entity(
        "lists",
        {"title": text(required=True, max=120), "position": number()},
        summary="Columns that cards move through.",
        seed=[
            {"id": "list_todo", "title": "To Do", "position": 1},
            {"id": "list_doing", "title": "Doing", "position": 2},
        ],
    )
    cards = board.entity(
        "cards",
        {
            "title": text(required=True, max=200),
            "list": ref("lists"),
            "priority": choice("none", "low", "medium", "high", "urgent"),
            "due": day(),
            "done": flag(),
            "created": moment(set_on="create"),
        },
        summary="The work itself.",
        seed=[{"id": "card_seed", "title": "Welcome card", "list": "list_todo", "priority": "low"}],
    )

    @board.operation(destructive=True)
    def archive_board() -> object:
        """Archive every card on the board."""
        return {"archived": True}

    @board.operation(read_only=True, idempotent=True)
    def count_cards() -> object:
        """Count the cards that were there at the beginning."""
        return {"count": cards.count(filter='id = "card_seed"')}

    @cards.operation(when={"field": "done", "ne": True}, params={"card": ref("cards", required=True)})
    def finish_card(card: str) -> object:
        """Mark one card done."""
        cards.update(card, {"done": True})
        return {"ok": True}

    app.event("card.due_soon", "A card is due within a day.")
    return app


def queue_work(app: App) -> None:
    """Triggers what the checks of class C find: one task to summarise, and one that is handed off."""
    app.trigger("card.due_soon", {"card": "card_seed"}, capability="summarize")
    app.trigger("card.due_soon", {"card": "card_seed"}, capability="handoff")


def write_folder(folder: Path, port: int) -> None:
    """Writes what makes the folder one that the operate program can be given: manifest and token."""
    manifest = {
        "id": "conformance_kanban",
        "name": "Conformance Kanban",
        "agentAppVersion": AGENT_APP_VERSION,
        "adapterVersion": AGENT_APP_VERSION,
        "authMode": "none",
        "pipeline": {"install": "", "build": "", "start": "true", "health": "/api/_a2app"},
        "port": port,
    }
    write_atomically(folder / MANIFEST, msgspec.json.encode(manifest), mode=0o644)
    write_atomically(folder / TOKEN, f"{FULL_TOKEN}\n".encode())


if __name__ == "__main__":
    served = make_reference_app(Path(sys.argv[2]))
    queue_work(served)
    served.serve(port=int(sys.argv[1]))
