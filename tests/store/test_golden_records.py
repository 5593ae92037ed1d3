"""Every shape of event that a log can hold is kept as a golden record, and can be read for ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest

from inspan.model.content import Noise
from inspan.model.errors import StoreError
from inspan.model.events import EVENT_VERSIONS, Event, event_type
from inspan.store.upcasters import UPCASTERS, decode_event, encode_event
from support.store.golden import GOLDEN_VALUES, GoldenRecord, meant_by, read_records

RECORDS = read_records()


def defaults_in(value: Any, path: str) -> Iterator[str]:
    """Paths of fields, here and below, that have their default value and so are not in the record."""
    if isinstance(value, tuple):
        for one in value:  # pyright: ignore[reportUnknownVariableType]
            yield from defaults_in(one, f"{path}[]")
    if not isinstance(value, msgspec.Struct):
        return
    for field in msgspec.structs.fields(value):
        inner = getattr(value, field.name)
        if inner == field.default or (
            field.default_factory is not msgspec.NODEFAULT and inner == field.default_factory()
        ):
            yield f"{path}.{field.name}"
        yield from defaults_in(inner, f"{path}.{field.name}")


def test_every_type_has_a_golden_value_and_a_record_of_its_current_version() -> None:
    assert set(GOLDEN_VALUES) == {event_type(cls) for cls in get_args(Event)}
    recorded = {(record.type, record.version) for record in RECORDS}
    assert set(EVENT_VERSIONS.items()) <= recorded
    assert len(recorded) == len(RECORDS)


def test_every_older_version_has_a_record_and_an_upcaster() -> None:
    older = {(name, version) for name, current in EVENT_VERSIONS.items() for version in range(1, current)}
    assert older <= {(record.type, record.version) for record in RECORDS}
    assert set(UPCASTERS) == older


@pytest.mark.parametrize("name", sorted(GOLDEN_VALUES))
def test_a_golden_value_sets_every_field_so_that_its_record_shows_the_whole_shape(name: str) -> None:
    assert list(defaults_in(GOLDEN_VALUES[name], name)) == []


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record.type}-{record.version}")
def test_a_golden_record_decodes_to_its_value(record: GoldenRecord) -> None:
    body = json.dumps(record.body).encode()
    assert decode_event(record.type, record.version, body) == meant_by(record)


@pytest.mark.parametrize(
    "record",
    [record for record in RECORDS if record.version == EVENT_VERSIONS.get(record.type)],
    ids=lambda record: record.type,
)
def test_the_current_encoding_is_the_golden_one_or_the_version_must_grow(record: GoldenRecord) -> None:
    assert json.loads(encode_event(GOLDEN_VALUES[record.type])) == record.body


def test_records_of_older_versions_go_through_every_upcaster_between() -> None:
    def name_the_count(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "count": body.pop("n")}

    def call_the_count_lines(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "lines": body.pop("count")}

    upcasters = {("noise", 1): name_the_count, ("noise", 2): call_the_count_lines}
    versions = {**EVENT_VERSIONS, "noise": 3}

    for version, body in ((1, b'{"type":"noise","n":4}'), (2, b'{"type":"noise","count":4}')):
        read = decode_event("noise", version, body, upcasters=upcasters, versions=versions)
        assert read == Noise(lines=4)
    assert decode_event(
        "noise", 3, b'{"type":"noise","lines":4}', upcasters=upcasters, versions=versions
    ) == Noise(lines=4)


@pytest.mark.parametrize(("name", "version"), [("noise", 2), ("from_the_future", 1)])
def test_a_shape_of_a_newer_program_is_refused_as_newer(name: str, version: int) -> None:
    with pytest.raises(StoreError) as caught:
        decode_event(name, version, b'{"type":"noise","lines":4}')
    assert caught.value.code == "store_newer"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b'{"type":"noise"}',
        b'{"type":"noise","lines":"4"}',
        b'{"type":"seat_removed"}',
    ],
)
def test_a_body_that_is_not_of_its_shape_is_damage(body: bytes) -> None:
    with pytest.raises(StoreError) as caught:
        decode_event("noise", 1, body)
    assert caught.value.code == "store_corrupt"
    with pytest.raises(StoreError) as caught:
        decode_event(
            "noise", 1, body, upcasters={("noise", 1): dict}, versions={**EVENT_VERSIONS, "noise": 2}
        )
    assert caught.value.code == "store_corrupt"
