"""Finds the record that a label means, so that nobody has to look up an id first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import quote

from inspan.apps.client import JsonObject
from inspan.apps.faults import Rejected
from inspan.apps.programs.screen import printable

from .session import Session

__all__ = ["LabelBook", "entity_level", "objects_in", "records_path", "rows_of"]

_PAGE = 200
_MOST_PAGES = 50
_MOST_CANDIDATES = 10


class LabelBook:
    """Labels to ids, for one call: each entity's records are read at most once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[str, list[tuple[str, str]]] = {}

    def id_of(self, entity: str, word: str, field: str) -> str:
        """The id: `word` itself if a record has it, else that of the one record with this label.

        Letters' case counts only where several differ in nothing else.

        Raises:
            Rejected: No record has the label, or several have.
            AppUnreachable: The app does not answer any more.
        """
        if not entity:
            return word
        reply = self._session.client.request("GET", f"{records_path(entity)}/{quote(word, safe='')}")
        # Where records may not be read, the app itself has to judge.
        if reply.is_ok or reply.status not in (400, 404):
            return word
        labels = self._labels(entity)
        if labels is None:
            return word
        exact = [one for one in labels if one[1] == word]
        found = exact or [one for one in labels if one[1].casefold() == word.casefold()]
        if len(found) == 1:
            return found[0][0]
        shown = printable(word, longest=100)
        if not found:
            raise Rejected(
                f"{printable(field)}: no record of {printable(entity)} has the id or label {shown!r}.",
                hint=self._session.command("data", entity, "list"),
                fields={"code": "record_not_found", "field": field, "got": word},
            )
        candidates = [{"id": one[0], "label": one[1]} for one in found[:_MOST_CANDIDATES]]
        ids = ", ".join(printable(one["id"], longest=80) for one in candidates)
        raise Rejected(
            f"{printable(field)}: {len(found)} records of {printable(entity)} are called {shown!r}: {ids}.",
            hint="Give the id of the one that is meant; ask if you do not know.",
            fields={"code": "ambiguous_ref", "field": field, "got": word, "candidates": candidates},
        )

    def _labels(self, entity: str) -> list[tuple[str, str]] | None:
        if entity not in self._known:
            level = entity_level(self._session, entity)
            label: object = level.get("label") if level is not None else None
            if not isinstance(label, str):
                return None
            self._known[entity] = [
                (str(record["id"]), record[label])
                for record in self._records(entity)
                if isinstance(record.get("id"), str) and isinstance(record.get(label), str)
            ]
        return self._known[entity]

    def _records(self, entity: str) -> Iterator[JsonObject]:
        for page in range(1, _MOST_PAGES + 1):
            reply = self._session.client.request("GET", f"{records_path(entity)}?page={page}&perPage={_PAGE}")
            items = objects_in(reply.body if reply.is_ok else {}, "items")
            yield from items
            per_page: object = reply.body.get("perPage")
            size = per_page if isinstance(per_page, int) and per_page > 0 else _PAGE
            if len(items) < size:
                return
            if "page" not in reply.body:
                return  # the app knows no pages, so this was all
        raise Rejected(
            f"{printable(entity)} has too many records to look for a label in.", hint="Give the record's id."
        )


def records_path(entity: str) -> str:
    """Where the records of an entity are."""
    return f"/api/collections/{quote(entity, safe='')}/records"


def entity_level(session: Session, entity: str) -> JsonObject | None:
    """The describe level of an entity, whichever module it is in; None where it is not shown to this caller."""
    for module in rows_of(session, "modules"):
        name: object = module.get("name")
        if isinstance(name, str) and any(
            row.get("name") == entity for row in rows_of(session, "entities", name)
        ):
            found = session.describe(name, entity)
            if found.is_ok and found.body.get("truncated"):
                found = session.describe(name, entity, show_all=True)
            return found.body if found.is_ok else None
    return None


def rows_of(session: Session, key: str, *steps: str) -> list[JsonObject]:
    """All rows that one level lists under a key; the whole level is asked for where some were left out."""
    reply = session.describe(*steps)
    if reply.is_ok and reply.body.get("truncated"):
        reply = session.describe(*steps, show_all=True)
    return objects_in(reply.body if reply.is_ok else {}, key)


def objects_in(body: JsonObject, key: str) -> list[JsonObject]:
    """The objects in a list of the answer; none where it has no such list."""
    value: object = body.get(key)
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", one) for one in cast("list[object]", value) if isinstance(one, dict)]
