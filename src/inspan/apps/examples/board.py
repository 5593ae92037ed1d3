"""A board of cards in lists, which an agent can fill, sort and sum up.

Run it with `python -m inspan.apps.examples.board FOLDER`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from inspan.apps.author import App, Refusal, choice, choices, day, moment, number, ref, text

from .starting import start

__all__ = ["make_app"]

DONE = "list_done"


def make_app(folder: Path) -> App:
    """The board, in a folder."""
    app = App("Board", folder=folder, app_id="example-board")
    board = app.module("board", "Lists, and the cards on them.")
    cards = board.entity(
        "cards",
        {
            "title": text(required=True, max=200),
            "list": ref("lists", required=True),
            "priority": choice("low", "medium", "high", "urgent", default="medium"),
            "due": day(description="The day by which it is to be done."),
            "labels": choices("home", "work", "money", "health", "fun"),
            "note": text(max=4000),
            "created": moment(set_on="create"),
            "finished": moment(read_only=True),
        },
        summary="What is to be done, each with a place in a list.",
        seed=[
            {
                "id": "card_try",
                "title": "Try this board",
                "list": "list_doing",
                "priority": "high",
                "labels": ["fun"],
            },
            {
                "id": "card_ask",
                "title": "Ask an agent to sum it up",
                "list": "list_todo",
                "labels": ["work", "fun"],
            },
            {"id": "card_own", "title": "Write an app of one's own", "list": "list_todo", "priority": "low"},
        ],
    )
    lists = board.entity(
        "lists",
        {"title": text(required=True, max=60), "position": number()},
        summary="Columns that cards move through, from left to right.",
        seed=[
            {"id": "list_todo", "title": "To do", "position": 1},
            {"id": "list_doing", "title": "Doing", "position": 2},
            {"id": DONE, "title": "Done", "position": 3},
        ],
    )
    summaries = board.entity(
        "summaries",
        {
            "title": text(required=True, max=120),
            "body": text(required=True, max=4000),
            "created": moment(set_on="create"),
        },
        summary="What agents wrote about the board.",
    )

    @cards.operation(
        params={"card": ref("cards", required=True), "list": ref("lists", required=True)}, idempotent=True
    )
    def move_card(card: str, list: str) -> object:
        """Move one card to another list."""
        if lists.get(list) is None:
            raise Refusal(f'There is no list "{list}".', code="record_not_found", status=404)
        finished = datetime.now(UTC).isoformat() if list == DONE else None
        return cards.update(card, {"list": list, "finished": finished})

    @cards.operation(
        params={"card": ref("cards", required=True)}, when={"field": "finished", "isBlank": True}
    )
    def finish_card(card: str) -> object:
        """Move one card to the last list and say that it is done."""
        done = cards.update(card, {"list": DONE, "finished": datetime.now(UTC).isoformat()})
        app.trigger("card.finished", {"card": card})
        return done

    @board.operation(destructive=True)
    def clear_done() -> object:
        """Delete every card of the last list."""
        gone = [cards.delete(card["id"]) for card in cards.list(filter=f'list = "{DONE}"')]
        return {"deleted": len(gone)}

    @board.operation()
    def ask_for_summary() -> object:
        """Ask an agent to write a summary of the board."""
        counts = {
            one["title"]: cards.count(filter=f'list = "{one["id"]}"') for one in lists.list(sort="position")
        }
        asked = app.trigger(
            "summary.wanted",
            {"cards": counts, "write": "one record of summaries"},
            capability="summarize-board",
        )
        return {"task": asked.task_id}

    @board.operation(params={"body": text(required=True, max=4000), "title": text(max=120)})
    def add_summary(body: str, title: str = "Summary") -> object:
        """Keep what was written about the board."""
        return summaries.create({"title": title, "body": body})

    app.event("card.finished", "A card was done.")
    app.event("summary.wanted", "Somebody wants to know how things stand.")
    return app


if __name__ == "__main__":
    start(make_app)
