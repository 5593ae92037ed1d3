"""The app's records: JSON documents in SQLite, one table for all entities, so that a new field needs no migration."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from inspan.apps.model.app_model import RECORD_ID, AppModel, EntityDecl
from inspan.apps.model.fields import Field

from .database import Database
from .filters import filter_sql, sort_sql

__all__ = ["DuplicateId", "Filling", "Page", "Record", "RecordStore", "new_record_id"]

Record = dict[str, Any]
"""A record as it is shown: `id`, and every field that may be seen, `None` where nothing is stored."""

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


class DuplicateId(ValueError):
    """A record of this id exists already."""


class Filling(NamedTuple):
    """What the app itself puts into a field.

    Attributes:
        on: On each write, on the first alone, or on the first where nothing was sent.
        value: Gives it.
    """

    on: Literal["write", "create", "absent"]
    value: Callable[[], Any]


class Page(NamedTuple):
    """A part of a list."""

    items: list[Record]
    page: int
    per_page: int
    total_items: int


def new_record_id() -> str:
    """A fresh id of 15 letters and digits."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(15))


class RecordStore:
    """Reads and writes records. It checks nothing: the guard comes before it."""

    def __init__(
        self, database: Database, model: AppModel, fillings: Mapping[str, Mapping[str, Filling]] | None = None
    ) -> None:
        """Works on `database`; `fillings` are by entity and field."""
        self._database = database
        self._shown = {
            entity.name: {field.name: field for field in entity.fields if not field.write_only}
            for entity in model.entities
        }
        self._fillings = fillings or {}

    def list(
        self, entity: EntityDecl, *, filter: str = "", sort: str = "", page: int = 1, per_page: int = 100
    ) -> Page:
        """A page of the records that a filter lets through.

        Raises:
            InvalidFilter: The filter or the sort cannot be honoured.
        """
        fields = self._shown[entity.name]
        condition = filter_sql(filter, fields)
        order = sort_sql(sort, fields)
        where = f"FROM records WHERE entity = ? AND {condition.text}"
        values = (entity.name, *condition.values)
        with self._database.reading() as connection:
            total = connection.execute(f"SELECT count(*) {where}", values).fetchone()[0]
            rows = connection.execute(
                f"SELECT id, body {where} ORDER BY {order} LIMIT ? OFFSET ?",
                (*values, per_page, (page - 1) * per_page),
            ).fetchall()
        items = [self._show(fields, row[0], row[1]) for row in rows]
        return Page(items=items, page=page, per_page=per_page, total_items=total)

    def get(self, entity: EntityDecl, record_id: str) -> Record | None:
        """One record, or `None`."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT id, body FROM records WHERE entity = ? AND id = ?", (entity.name, record_id)
            ).fetchone()
        return None if row is None else self._show(self._shown[entity.name], row[0], row[1])

    def get_many(self, entity: EntityDecl, ids: list[str]) -> list[Record]:
        """Records in the order of `ids`; one that is not there has its id alone."""
        return [self.get(entity, one) or {"id": one} for one in ids]

    def create(
        self, entity: EntityDecl, values: Mapping[str, Any], *, record_id: str | None = None
    ) -> Record:
        """Stores a new record and gives it as it is stored.

        Raises:
            DuplicateId: The id is taken.
            ValueError: The id has a wrong form.
        """
        if record_id is not None and not RECORD_ID.fullmatch(record_id):
            raise ValueError(f'"{record_id[:64]}" is no id: 1 to 64 of letters, digits and "_.:-".')
        body = dict(values)
        for name, filling in self._fillings.get(entity.name, {}).items():
            if filling.on != "absent" or name not in body:
                body[name] = filling.value()
        chosen = record_id or new_record_id()
        with self._database.writing() as transaction:
            try:
                transaction.connection.execute(
                    "INSERT INTO records (entity, id, body) VALUES (?, ?, ?)",
                    (entity.name, chosen, msgspec.json.encode(body).decode()),
                )
            except sqlite3.IntegrityError as error:
                raise DuplicateId(f'A record of {entity.name} has the id "{chosen}" already.') from error
            transaction.has_changed_records = True
            return self._read_back(entity, chosen)

    def update(self, entity: EntityDecl, record_id: str, values: Mapping[str, Any]) -> Record | None:
        """Changes some fields of a record and gives it as it is stored; `None` where there is none."""
        with self._database.writing() as transaction:
            row = transaction.connection.execute(
                "SELECT body FROM records WHERE entity = ? AND id = ?", (entity.name, record_id)
            ).fetchone()
            if row is None:
                return None
            body = {**msgspec.json.decode(row[0]), **values}
            for name, filling in self._fillings.get(entity.name, {}).items():
                if filling.on == "write":
                    body[name] = filling.value()
            transaction.connection.execute(
                "UPDATE records SET body = ? WHERE entity = ? AND id = ?",
                (msgspec.json.encode(body).decode(), entity.name, record_id),
            )
            transaction.has_changed_records = True
            return self._read_back(entity, record_id)

    def delete(self, entity: EntityDecl, record_id: str) -> bool:
        """Removes a record; whether there was one. What pointed to it points to nothing now."""
        with self._database.writing() as transaction:
            done = transaction.connection.execute(
                "DELETE FROM records WHERE entity = ? AND id = ?", (entity.name, record_id)
            )
            if done.rowcount:
                transaction.has_changed_records = True
            return bool(done.rowcount)

    def _read_back(self, entity: EntityDecl, record_id: str) -> Record:
        return self.get(entity, record_id) or {"id": record_id}

    @staticmethod
    def _show(fields: Mapping[str, Field], record_id: str, body: str) -> Record:
        stored = msgspec.json.decode(body)
        return {"id": record_id, **{name: stored.get(name) for name in fields}}
