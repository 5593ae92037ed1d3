"""A list of books: what one wants to read, reads and has read, with notes, and an agent that recommends the next.

Run it with `python -m inspan.apps.examples.reading_list FOLDER`.
"""

from __future__ import annotations

from pathlib import Path

from inspan.apps.author import App, Refusal, choice, choices, moment, number, ref, text

from .starting import start

__all__ = ["make_app"]

_BEST = 5


def make_app(folder: Path) -> App:
    """The reading list, in a folder."""
    app = App("Reading list", folder=folder, app_id="example-reading-list")
    shelf = app.module("shelf", "Books, and notes on them.")
    books = shelf.entity(
        "books",
        {
            "title": text(required=True, max=200),
            "author": text(max=120),
            "status": choice("want", "reading", "finished", default="want"),
            "topics": choices("fiction", "history", "science", "craft", "essays"),
            "rating": number(read_only=True, description="1 to 5, given when it is finished."),
            "link": text(max=400),
            "why": text(max=2000, description="Why it is on the list."),
            "added": moment(set_on="create"),
        },
        summary="What to read, and what was read.",
        seed=[
            {"id": "book_middlemarch", "title": "Middlemarch", "author": "George Eliot", "topics": ["fiction"], "status": "reading"},
            {"id": "book_origin", "title": "On the Origin of Species", "author": "Charles Darwin", "topics": ["science"]},
            {"id": "book_walden", "title": "Walden", "author": "Henry David Thoreau", "topics": ["essays"]},
        ],
    )  # fmt: skip
    notes = shelf.entity(
        "notes",
        {
            "text": text(required=True, max=4000),
            "book": ref("books", required=True),
            "made": moment(set_on="create"),
        },
        summary="What one thought while reading.",
    )
    book = {"book": ref("books", required=True)}

    @books.operation(params=book, when={"field": "status", "eq": "want"})
    def start_book(book: str) -> object:
        """Begin to read a book."""
        return books.update(book, {"status": "reading"})

    @books.operation(
        params={**book, "rating": number(description="1 to 5.")}, when={"field": "status", "eq": "reading"}
    )
    def finish_book(book: str, rating: float | None = None) -> object:
        """Say that a book is read, and how good it was."""
        if rating is not None and not 1 <= rating <= _BEST:
            raise Refusal(f"A rating is from 1 to {_BEST}.", code="invalid_number", status=400)
        return books.update(book, {"status": "finished", "rating": rating})

    @books.operation(params={**book, "text": text(required=True, max=4000)})
    def add_note(book: str, text: str) -> object:
        """Write down a thought about a book."""
        return notes.create({"text": text, "book": book})

    @shelf.operation(read_only=True, idempotent=True)
    def statistics() -> object:
        """Count the books by what became of them."""
        return {
            status: books.count(filter=f'status = "{status}"') for status in ("want", "reading", "finished")
        }

    @shelf.operation(params={"mood": text(max=200, description="What one feels like.")})
    def ask_for_recommendation(mood: str = "") -> object:
        """Ask an agent for a book that fits what was liked so far."""
        liked = [one["title"] for one in books.list(filter="rating >= 4")]
        known = [one["title"] for one in books.list()]
        asked = app.trigger(
            "recommendation.wanted",
            {"liked": liked, "known": known, "mood": mood, "write": "one record of books, with why"},
            capability="recommend-book",
        )
        return {"task": asked.task_id}

    app.event("recommendation.wanted", "The reader wants to know what to read next.")
    return app


if __name__ == "__main__":
    start(make_app)
