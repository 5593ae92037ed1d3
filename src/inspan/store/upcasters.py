"""The stored form of an event, and the way from every older form to the current one.

A record is never edited. A shape that changes gets a new number in `EVENT_VERSIONS` and an entry in
`UPCASTERS` that turns the JSON object of the version before into the next one; they are applied when a record
is read, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from inspan.model.errors import StoreError
from inspan.model.events import EVENT_VERSIONS, Event, event_type

__all__ = ["UPCASTERS", "Upcaster", "decode_event", "encode_event"]

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes a record's JSON object, its tag included, into that of the next version."""

_GREW: Upcaster = dict
"""A shape that only gained a field which may be left out: an older record says nothing of it."""

UPCASTERS: dict[tuple[str, int], Upcaster] = {
    ("seat_added", 1): _GREW,
    ("delivery_queued", 1): _GREW,
    ("turn_ended", 1): _GREW,
    ("usage", 1): _GREW,
    ("delivery_held", 1): _GREW,
}
"""(type, version) to the function that leads to the version after."""

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_RAW_DECODER = msgspec.json.Decoder(dict[str, Any])


def encode_event(event: Event) -> bytes:
    """The JSON object of an event, with its tag."""
    return _ENCODER.encode(event)


def decode_event(
    type_name: str,
    version: int,
    body: bytes,
    *,
    upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
    versions: Mapping[str, int] = EVENT_VERSIONS,
) -> Event:
    """The event of a stored record, in the current shape.

    Args:
        type_name: The record's type.
        version: The version of its shape.
        body: Its JSON object.
        upcasters: The ways from older versions.
        versions: The current version of every type.

    Raises:
        StoreError: `store_newer` for a type or a version that this program does not know, `store_corrupt`
            for a body that is not of its shape.
    """
    current = versions.get(type_name)
    if current is None or version > current:
        raise StoreError(
            f"The log holds an event of type {type_name!r} in version {version}, which this program does not know.",
            code="store_newer",
            hint="Install the newer Inspan that wrote it.",
        )
    try:
        if version == current:
            event = _DECODER.decode(body)
        else:
            record = _RAW_DECODER.decode(body)
            for step in range(version, current):
                record = upcasters[type_name, step](record)
            event = msgspec.convert(record, Event)
    except (msgspec.MsgspecError, KeyError, UnicodeDecodeError) as error:
        raise _damaged(type_name, version) from error
    if event_type(event) != type_name:
        raise _damaged(type_name, version)
    return event


def _damaged(type_name: str, version: int) -> StoreError:
    return StoreError(
        f"An event of type {type_name!r} in version {version} does not have its shape.",
        code="store_corrupt",
        hint="Run `inspan store check`.",
    )
