"""`a2app APP data …`: records of an entity, read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote, urlencode

from inspan.apps.client import JsonObject, Reply
from inspan.apps.faults import Misused, Rejected
from inspan.apps.programs.screen import note, print_json, printable
from inspan.apps.programs.words import Words

from .answers import print_reply, refusal
from .labels import entity_level, records_path, rows_of
from .session import Session
from .values import Fields, read_json_object, resolve_values, value_of_text
from .writing import idempotency_headers, write

__all__ = ["USAGE", "check_data", "run_data"]

USAGE = """a2app APP data schema
a2app APP data ENTITY list [--filter F] [--sort S] [--limit N] [--page N]
a2app APP data ENTITY get ID
a2app APP data ENTITY create [--FIELD VALUE …] [--json OBJECT] [--idempotency-key KEY]
a2app APP data ENTITY update ID [--FIELD VALUE …] [--json OBJECT] [--idempotency-key KEY]
a2app APP data ENTITY delete ID"""

_VERBS = {"list": 2, "get": 3, "create": 2, "update": 3, "delete": 3}


def check_data(words: Words) -> None:
    """Refuses a command line that cannot be right, whatever the app says.

    Raises:
        Misused: It has another form than `USAGE`.
    """
    places = words.places
    if places == ["schema"]:
        return
    if len(places) < 2:
        raise Misused("What to do with which entity is missing.", hint=USAGE)
    verb = places[1]
    if verb not in _VERBS:
        known = ", ".join(_VERBS)
        raise Misused(f"data has no verb {printable(verb, longest=80)!r}; there are {known}.", hint=USAGE)
    if len(places) != _VERBS[verb] or not all(places):
        raise Misused(
            f"data ENTITY {verb} takes {'an id and nothing more' if _VERBS[verb] == 3 else 'no id'}.",
            hint=USAGE,
        )


def run_data(session: Session, words: Words) -> int:
    """Carries out one data command; gives the exit status.

    Raises:
        Misused: The command line is wrong.
        Rejected: A label is not clear.
        AppUnreachable: The app does not answer any more.
    """
    check_data(words)
    if words.places == ["schema"]:
        words.done(places=1, usage=USAGE)
        return _print_schema(session)
    entity, verb = words.places[:2]
    match verb:
        case "list":
            return _list(session, entity, words)
        case "get":
            words.done(places=3, usage=USAGE)
            return print_reply(session.client.request("GET", _record(entity, words.places[2])))
        case "delete":
            words.done(places=3, usage=USAGE)
            return print_reply(write(session, "DELETE", _record(entity, words.places[2]), None, {}))
        case "create":
            return _write(session, entity, None, words)
        case _:
            return _write(session, entity, words.places[2], words)


def _list(session: Session, entity: str, words: Words) -> int:
    asked = {
        "filter": words.one("filter"),
        "sort": words.one("sort"),
        "page": words.whole("page", least=1),
        "perPage": words.whole("limit", least=1),
    }
    words.done(places=2, usage=USAGE)
    query = urlencode({key: str(value) for key, value in asked.items() if value is not None}, quote_via=quote)
    return print_reply(session.client.request("GET", records_path(entity) + (f"?{query}" if query else "")))


def _write(session: Session, entity: str, record: str | None, words: Words) -> int:
    headers = idempotency_headers(words.one("idempotency-key"))
    blob = words.one("json")
    flags = words.rest()
    words.done(places=2 if record is None else 3, usage=USAGE)
    if blob is None and not flags:
        raise Misused("No field is given.", hint=USAGE)
    level = entity_level(session, entity)
    fields: Fields = cast(Fields, level["fields"]) if level and isinstance(level.get("fields"), dict) else {}
    given = read_json_object(blob, "json") if blob is not None else {}
    for name, text in flags:
        given[name] = value_of_text(text, fields.get(name))
    values = resolve_values(session, given, fields)
    if record is None:
        reply = write(session, "POST", records_path(entity), values, headers)
    else:
        reply = write(session, "PATCH", _record(entity, record), values, headers)
    if not reply.is_ok:
        return refusal(reply)
    return _read_back(session, entity, record, values, fields, reply)


def _read_back(
    session: Session, entity: str, record: str | None, values: JsonObject, fields: Fields, reply: Reply
) -> int:
    """Reads the record again: a field that was given and is nothing afterwards was not stored."""
    written = reply.body.get("id") if record is None else record
    if not isinstance(written, str):
        raise Rejected("The app stored something, and does not say under which id.")
    again = session.client.request("GET", _record(entity, written))
    if again.status in (401, 403):
        print_json(reply.body)  # may write, and not read: the app's own word is all there is
        return 0
    stored: Mapping[str, Any] = again.body if again.is_ok else {}
    shown = [
        name
        for name, value in values.items()
        if value not in (None, "")
        and not (fields and name not in fields)  # what is never shown cannot be compared
    ]
    lost = [name for name in shown if stored.get(name) in (None, "")]
    if again.is_ok and not lost:
        print_json(again.body)
        return 0
    print_json(
        {
            "a2app": True,
            "ok": False,
            "code": "incomplete",
            "id": written,
            "fields": lost,
            "record": dict(stored),
        }
    )
    which = ", ".join(printable(name, longest=80) for name in lost) or "the record itself"
    note(f"a2app: incomplete: the app took it, and {which} cannot be read back.")
    note(f"  next: {session.command('data', entity, 'get', written)}")
    return 1


def _print_schema(session: Session) -> int:
    """The whole model as one JSON value; every level of it is also in reach of the walk."""
    root = session.describe()
    if not root.is_ok:
        return refusal(root)
    entities: JsonObject = {}
    operations: list[JsonObject] = []
    for module in rows_of(session, "modules"):
        name = module.get("name")
        if not isinstance(name, str):
            continue
        operations += [{**one, "module": name} for one in rows_of(session, "operations", name)]
        for row in rows_of(session, "entities", name):
            entity = row.get("name")
            if not isinstance(entity, str):
                continue
            level = session.describe(name, entity)
            if not level.is_ok:
                return refusal(level)
            entities[entity] = {
                "module": name,
                **{
                    key: level.body[key]
                    for key in ("label", "records", "fields", "auth")
                    if key in level.body
                },
                "operations": rows_of(session, "operations", name, entity),
            }
    print_json(
        {
            "a2app": True,
            "app": session.identity.get("app"),
            "schemaVersion": session.identity.get("schemaVersion"),
            "entities": entities,
            "operations": operations,
        }
    )
    return 0


def _record(entity: str, record: str) -> str:
    return f"{records_path(entity)}/{quote(record, safe='')}"
