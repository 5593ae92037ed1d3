"""The guard: every rule by itself, all violations at once, and nothing that any JSON value can make it do."""

from __future__ import annotations

import json
import math
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.apps.author import App, text
from inspan.apps.conformance.reference import make_reference_app
from inspan.apps.model.envelope import CODES
from inspan.apps.model.fields import Field
from inspan.apps.model.guard import Violation, check_body, coerce_body, is_date, is_day_key, lost_fields
from inspan.apps.server.caller import Grant
from inspan.apps.server.records import Record
from support.apps.served import serving

FIELDS = (
    Field(name="title", type="string", required=True, max=5),
    Field(name="note", type="string"),
    Field(name="due", type="string", day_key=True, max=10),
    Field(name="count", type="number"),
    Field(name="done", type="boolean"),
    Field(name="at", type="datetime"),
    Field(name="level", type="enum", values=("low", "7", "true")),
    Field(name="tags", type="list<enum>", values=("a", "b")),
    Field(name="card", type="ref", entity="cards"),
    Field(name="cards", type="list<ref>", entity="cards"),
    Field(name="extra", type="json"),
    Field(name="data", type="binary"),
    Field(name="made", type="datetime", read_only=True),
    Field(name="secret", type="string", write_only=True),
)
CARDS = "/api/collections/cards/records"


def codes(body: dict[str, Any], *, requires_all: bool = False) -> list[tuple[str, str]]:
    return [(one.field, one.code) for one in check_body(FIELDS, body, requires_all=requires_all)]


@pytest.mark.requirement("P4")
@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("nothing", 1, "unknown_field"),
        ("constructor", "x", "unknown_field"),
        ("__class__", "x", "unknown_field"),
        ("toString", "x", "unknown_field"),
        ("made", "2026-01-01", "read_only_field"),
        ("made", None, "read_only_field"),
        ("title", "", "missing_required"),
        ("title", None, "missing_required"),
        ("note", None, None),
        ("note", "", None),
        ("title", "abcde", None),
        ("title", "abcdef", "invalid_string"),
        ("title", 5, "invalid_string"),
        ("title", True, "invalid_string"),
        ("title", ["x"], "invalid_string"),
        ("note", {}, "invalid_string"),
        ("secret", "x", None),
        ("due", "2026-02-28", None),
        ("due", "2026-02-29", "invalid_daykey"),
        ("due", "2026-2-3", "invalid_daykey"),
        ("due", "tomorrow", "invalid_daykey"),
        ("due", "2026-02-28T10:00", "invalid_daykey"),
        ("due", 20260228, "invalid_daykey"),
        ("count", 3, None),
        ("count", -2.5, None),
        ("count", "3", None),
        ("count", " 4.5e3 ", None),
        ("count", "0x10", "invalid_number"),
        ("count", "1_000", "invalid_number"),
        ("count", "three", "invalid_number"),
        ("count", "NaN", "invalid_number"),
        ("count", "Infinity", "invalid_number"),
        ("count", "1e999", "invalid_number"),
        ("count", math.inf, "invalid_number"),
        ("count", True, "invalid_number"),
        ("count", [1], "invalid_number"),
        ("done", True, None),
        ("done", "true", None),
        ("done", "false", None),
        ("done", "True", "invalid_boolean"),
        ("done", 1, "invalid_boolean"),
        ("done", 0, "invalid_boolean"),
        ("at", "2026-07-31", None),
        ("at", "2026-07-31T09:15:00.123Z", None),
        ("at", "2026-07-31 09:15", None),
        ("at", "2026-07-31T09:15:00+02:00", None),
        ("at", "2026-02-30T09:15:00Z", "invalid_date"),
        ("at", "2026-13-01", "invalid_date"),
        ("at", "0000-01-01", "invalid_date"),
        ("at", "2026-07-31T24:00", "invalid_date"),
        ("at", "2026-07-31T09:60", "invalid_date"),
        ("at", "next monday", "invalid_date"),
        ("at", "2026-07-31T09:15:00Z; drop", "invalid_date"),
        ("at", "\uff12\uff10\uff12\uff16-07-31", "invalid_date"),
        ("at", 1785489300, "invalid_date"),
        ("level", "low", None),
        ("level", 7, None),
        ("level", 7.0, None),
        ("level", True, None),
        ("level", "LOW", "invalid_enum"),
        ("level", ["low"], "invalid_enum"),
        ("level", {}, "invalid_enum"),
        ("tags", [], None),
        ("tags", ["a", "b"], None),
        ("tags", "a", "invalid_enum"),
        ("tags", ["a", "c"], "invalid_enum"),
        ("tags", [["a"]], "invalid_enum"),
        ("card", "abc", None),
        ("card", 7, "invalid_string"),
        ("cards", ["abc"], None),
        ("cards", "abc", "invalid_string"),
        ("cards", [""], "invalid_string"),
        ("extra", {"any": [1, None]}, None),
        ("data", "aGk=", None),
        ("data", 1, "invalid_string"),
    ],
)
def test_each_rule_of_the_guard(name: str, value: object, code: str | None) -> None:
    assert codes({name: value}) == ([] if code is None else [(name, code)])


@pytest.mark.requirement("P4")
def test_all_violations_come_at_once_and_in_the_order_of_the_body() -> None:
    assert codes({"bogus": 1, "due": "x", "made": "y", "count": "z"}, requires_all=True) == [
        ("bogus", "unknown_field"),
        ("due", "invalid_daykey"),
        ("made", "read_only_field"),
        ("count", "invalid_number"),
        ("title", "missing_required"),
    ]


def test_what_is_required_may_be_absent_from_a_change_and_not_from_a_new_record() -> None:
    assert codes({"count": 1}) == []
    assert codes({"count": 1}, requires_all=True) == [("title", "missing_required")]
    assert codes({"title": ""}, requires_all=True) == [("title", "missing_required")]


def test_a_key_that_is_allowed_is_not_looked_at() -> None:
    assert check_body(FIELDS, {"id": {}, "title": "x"}, requires_all=True, allowed=["id"]) == []


def test_a_violation_says_what_would_be_right_and_shortens_what_came() -> None:
    found = check_body(FIELDS, {"level": "x" * 5000}, requires_all=False)[0]

    assert found.expected == "one of: low | 7 | true"
    assert len(found.got) < 200


_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
_names = st.one_of(st.sampled_from([field.name for field in FIELDS]), st.text(max_size=8))


@pytest.mark.requirement("P4")
@given(st.dictionaries(_names, _json, max_size=6), st.booleans())
def test_any_body_is_judged_key_by_key_and_what_passes_can_be_stored(
    body: dict[str, Any], is_new: bool
) -> None:
    found = check_body(FIELDS, body, requires_all=is_new)

    assert all(one.code in CODES for one in found)
    by_key = [
        one for key, value in body.items() for one in check_body(FIELDS, {key: value}, requires_all=False)
    ]
    missing = [one for one in found if one.code == "missing_required" and one.field not in body]
    assert [one for one in found if one not in missing] == by_key
    assert [one.field for one in missing] == (["title"] if is_new and "title" not in body else [])
    if not found:
        stored = coerce_body(FIELDS, body)
        assert set(stored) == set(body)
        # What was stored passes again, and is then left as it is.
        assert check_body(FIELDS, stored, requires_all=is_new) == []
        assert coerce_body(FIELDS, stored) == stored or any(value != value for value in stored.values())


@given(st.dates())
def test_every_day_of_the_calendar_is_one(day: date) -> None:
    assert is_day_key(day.isoformat())
    assert is_date(day.isoformat())


@given(st.datetimes())
def test_every_moment_is_a_date_and_becomes_one_text(moment: datetime) -> None:
    assert is_date(moment.isoformat())
    if 2 < moment.year < 9998:
        written = moment.isoformat() + "+00:00"
        stored = coerce_body(FIELDS, {"at": written})["at"]
        assert stored == moment.isoformat(timespec="milliseconds") + "Z"
        assert coerce_body(FIELDS, {"at": stored})["at"] == stored


@given(st.text(max_size=12))
def test_a_day_is_exactly_what_the_calendar_has(written: str) -> None:
    try:
        is_real = date.fromisoformat(written).isoformat() == written
    except ValueError:
        is_real = False

    assert is_day_key(written) is is_real


def test_values_are_stored_as_their_declared_type() -> None:
    body = {
        "count": "3",
        "done": "false",
        "level": 7,
        "tags": ["a"],
        "at": "2026-07-31T09:15+02:00",
        "note": "",
        "card": "",
    }

    assert coerce_body(FIELDS, body) == {
        "count": 3,
        "done": False,
        "level": "7",
        "tags": ["a"],
        "at": "2026-07-31T07:15:00.000Z",
        "note": "",
        "card": None,
    }


@pytest.mark.requirement("P4")
def test_the_read_back_finds_what_was_asked_for_and_is_not_there() -> None:
    body = {"title": "x", "note": "y", "done": False, "count": 0, "tags": ["a"], "secret": "s", "due": ""}

    assert lost_fields(FIELDS, body, {"title": "x", "done": False, "count": 0}.get) == ["note", "tags"]
    stored: dict[str, list[str]] = {"tags": []}
    assert lost_fields(FIELDS, {"tags": []}, stored.get) == []
    assert lost_fields(FIELDS, {"tags": ["a"]}, stored.get) == ["tags"]


@pytest.mark.requirement("P4")
def test_a_write_that_was_not_stored_is_a_422_that_names_fields_and_record(tmp_path: Path) -> None:
    app = App("Lossy", folder=tmp_path, grants=[Grant(token="t", credential_id="c")])
    app.module("m").entity("notes", {"title": text(required=True), "body": text()})
    served = app.open()
    create = served.records.create

    def forget(entity: Any, values: Any, **options: Any) -> Record:
        return create(entity, {key: value for key, value in values.items() if key != "body"}, **options)

    served.records.create = forget
    with serving(app) as here:
        answer = here.post("/api/collections/notes/records", {"title": "x", "body": "y"})
        stored = here.get("/api/collections/notes/records").body["items"]

    assert answer.status == 422
    assert answer.body["violations"] == [{"code": "not_stored", "field": "body"}]
    assert [one["id"] for one in stored] == [answer.body["id"]]


@pytest.mark.requirement("P4")
def test_over_http_the_raw_body_is_judged_and_the_first_violation_stands_at_the_top(tmp_path: Path) -> None:
    with serving(make_reference_app(tmp_path)) as here:
        before = here.get(CARDS).body["totalItems"]
        answer = here.post(CARDS, {"title": "x", "due": "tomorrow", "priority": "nope", "bogus": 1})
        after = here.get(CARDS).body["totalItems"]

    assert answer.status == 400
    assert answer.body["a2app"] is True
    assert answer.body["ok"] is False
    first, second, third = answer.body["violations"]
    assert {key: answer.body[key] for key in ("code", "field", "expected", "got")} == first
    assert (first["code"], second["code"], third["code"]) == (
        "invalid_daykey",
        "invalid_enum",
        "unknown_field",
    )
    assert before == after


@pytest.mark.requirement("P4")
@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"x"', b"7", b"\xff", b'{"title": NaN}', b'{"title": "\xc3"}', b'{"title": "\\ud800"}',
        b"[" * 1_000 + b"]" * 1_000, b'{"title":' * 1_000 + b"1" + b"}" * 1_000, b'{"title":' * 100_000,
        b'{"position": 123456789012345678901234567890}', b'{"title": "' + b"x" * 1_000_000 + b'"}',
        json.dumps({f"key{number}": number for number in range(20_000)}).encode(),
    ],
    ids=lambda body: f"{body[:12]!r}-{len(body)}",
)  # fmt: skip
def test_no_body_breaks_the_server(tmp_path: Path, body: bytes) -> None:
    with serving(make_reference_app(tmp_path)) as here:
        answer = here.post("/api/collections/lists/records", body)

        assert answer.status == 400
        assert answer.code in CODES
        assert here.get("/api/_a2app").status == 200


def test_a_body_over_the_cap_is_refused(tmp_path: Path) -> None:
    with serving(make_reference_app(tmp_path)) as here:
        answer = here.post(CARDS, b'{"title": "' + b"x" * 5_000_000 + b'"}')

    assert (answer.status, answer.code) == (413, "usage")


def test_a_violation_is_a_value() -> None:
    assert Violation(code="a", field="b", expected="c") == Violation(
        code="a", field="b", expected="c", got=None
    )
