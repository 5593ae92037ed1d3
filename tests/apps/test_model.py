"""Fields, labels, conditions, and what a model must not say: each problem is one message."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.apps.model.app_model import AppModel, EntityDecl, EventDecl, ModuleDecl, model_problems
from inspan.apps.model.fields import FIELD_TYPES, Field, field_from_wire, field_to_wire, is_blank, label_field
from inspan.apps.model.operations import OperationDecl, operation_to_wire, operations_from_wire
from inspan.apps.model.predicates import applies, blocked_reason, predicate_fields, predicate_problems

TITLE = Field(name="title", type="string", required=True, max=100)
FIELDS = {
    field.name: field
    for field in (
        TITLE,
        Field(name="done", type="boolean"),
        Field(name="count", type="number"),
        Field(name="status", type="enum", values=("open", "sent")),
        Field(name="tags", type="list<enum>", values=("a", "b")),
    )
}
CARDS = EntityDecl(name="cards", module="board", fields=tuple(FIELDS.values()))
FINISH = OperationDecl(
    name="finish",
    destructive=False,
    module="board",
    entity="cards",
    params=(Field(name="card", type="ref", entity="cards", required=True),),
    applies_when={"field": "done", "ne": True},
)
MODEL = AppModel(
    id="board",
    name="Board",
    modules=(ModuleDecl(name="board"),),
    entities=(CARDS,),
    operations=(FINISH,),
    events=(EventDecl(type="card.due"),),
)


def cards(*fields: Field) -> EntityDecl:
    return msgspec.structs.replace(CARDS, fields=(*CARDS.fields, *fields))


def finish(**changes: Any) -> OperationDecl:
    return msgspec.structs.replace(FINISH, **changes)


@pytest.mark.requirement("P3")
def test_the_types_are_the_closed_set() -> None:
    assert FIELD_TYPES == (
        "string", "number", "boolean", "datetime", "enum", "ref", "list<enum>", "list<ref>", "json", "binary",
    )  # fmt: skip


def test_a_model_without_problems_has_none() -> None:
    assert model_problems(MODEL) == []


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"modules": (), "entities": (), "operations": ()}, "no module is declared"),
        ({"modules": (ModuleDecl(name="board"), ModuleDecl(name="board"))}, 'module "board" is declared twice'),
        ({"modules": (ModuleDecl(name="board"), ModuleDecl(name="tasks"))}, "reserved"),
        ({"modules": (ModuleDecl(name="other"),), "operations": ()}, 'entity "cards" names the module "board"'),
        ({"id": ""}, "the app's id"),
        ({"name": "a\nb"}, "the app's name"),
        ({"conventions": {"x": "y" * 700}}, "conventions are over"),
        ({"entities": (CARDS, CARDS)}, 'entity "cards" is declared twice'),
        ({"entities": (cards(TITLE),)}, 'field "title" is declared twice'),
        ({"entities": (cards(Field(name="a b", type="string")),)}, "is not named by"),
        ({"entities": (cards(Field(name="id", type="string")),)}, "like what every record has"),
        ({"entities": (cards(Field(name="x", type="enum")),)}, "without values"),
        ({"entities": (cards(Field(name="x", type="string", values=("a",))),)}, "has values and is a string"),
        ({"entities": (cards(Field(name="x", type="enum", values=("a", "a"))),)}, "there twice"),
        ({"entities": (cards(Field(name="x", type="ref", entity="nobody")),)}, 'the entity "nobody"'),
        ({"entities": (cards(Field(name="x", type="number", entity="cards")),)}, "points to an entity and is a number"),
        ({"entities": (cards(Field(name="x", type="number", max=3)),)}, "has a max"),
        ({"entities": (cards(Field(name="x", type="number", day_key=True)),)}, "is a day and a number"),
        ({"entities": (cards(Field(name="x", type="string", required=True, read_only=True)),)}, "nobody could fill"),
        ({"entities": (cards(Field(name="x", type="string", write_only=True, read_only=True)),)}, "neither be read"),
        ({"entities": (msgspec.structs.replace(CARDS, name="my cards"),), "operations": ()}, "has a name that"),
        ({"entities": (msgspec.structs.replace(CARDS, fields=()),), "operations": ()}, "has no field"),
        ({"operations": (FINISH, FINISH)}, 'operation "finish" is declared twice'),
        ({"operations": (finish(module=""),)}, "names no module"),
        ({"operations": (finish(module="away"),)}, 'the module "away"'),
        ({"operations": (finish(name="--all"),)}, "has a name that"),
        ({"operations": (finish(entity="nobody"),)}, 'acts on the entity "nobody"'),
        ({"operations": (finish(entity=""),)}, "appliesWhen and no entity"),
        ({"operations": (finish(applies_when={"field": "gone", "eq": 1}),)}, 'reads "gone"'),
        ({"operations": (finish(applies_when={"field": "done", "is": 1}),)}, "exactly one of"),
        ({"operations": (finish(params=(TITLE, TITLE)),)}, 'parameter "title" is declared twice'),
        ({"operations": (finish(params=(Field(name="x", type="string", read_only=True),)),)}, "read-only or write-only"),
        ({"operations": (finish(read_only=True, destructive=True),)}, "read-only and destructive"),
        ({"events": (EventDecl(type="a b"),)}, 'event type "a b"'),
        ({"events": (EventDecl(type="a"), EventDecl(type="a"))}, 'event "a" is declared twice'),
    ],
)  # fmt: skip
def test_each_problem_of_a_model_is_one_message(changes: dict[str, Any], said: str) -> None:
    problems = model_problems(msgspec.structs.replace(MODEL, **changes))

    assert len(problems) == 1, problems
    assert said in problems[0]


@pytest.mark.requirement("P3")
def test_an_operation_in_another_module_than_its_entity_is_a_problem() -> None:
    modules = (ModuleDecl(name="board"), ModuleDecl(name="other"))

    problems = model_problems(
        msgspec.structs.replace(MODEL, modules=modules, operations=(finish(module="other"),))
    )

    assert problems == ['operation "finish" is in the module "other" and acts on "cards" of "board"']


@pytest.mark.requirement("P3")
def test_all_problems_are_reported_at_once() -> None:
    broken = msgspec.structs.replace(
        MODEL, modules=(ModuleDecl(name="data"),), operations=(finish(name="", entity="nobody"),), events=(EventDecl(type=""),)
    )  # fmt: skip

    assert len(model_problems(broken)) == 6


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(
    ("names", "label"),
    [
        (["label", "name", "title"], "title"),
        (["label", "name"], "name"),
        (["x", "label"], "label"),
        (["x", "first", "second"], "first"),
        (["x"], None),
    ],
)
def test_the_label_is_title_then_name_then_label_then_the_first_required_string(
    names: list[str], label: str | None
) -> None:
    fields = [Field(name=name, type="string", required=name in ("first", "second")) for name in names]

    assert label_field(fields) == label


def test_what_is_never_shown_or_never_written_is_no_label() -> None:
    hidden = Field(name="title", type="string", required=True, write_only=True)
    made = Field(name="code", type="string", required=True, read_only=True)

    assert label_field([hidden, made]) is None


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(
    ("predicate", "record", "reason"),
    [
        ({"field": "done", "ne": True}, {"done": True}, "done is true"),
        ({"field": "done", "ne": True}, {"done": None}, None),
        ({"field": "done", "eq": "true"}, {"done": True}, None),
        ({"field": "status", "eq": "sent"}, {"status": "open"}, 'status is "open", not "sent"'),
        ({"field": "status", "eq": "sent"}, {}, 'status is blank, not "sent"'),
        ({"field": "status", "in": ["sent", "open"]}, {"status": "open"}, None),
        ({"field": "status", "in": ["sent"]}, {"status": "open"}, 'status is "open", not one of "sent"'),
        ({"field": "status", "notIn": ["open"]}, {"status": "open"}, 'status is "open"'),
        ({"field": "status", "notIn": ["open"]}, {"status": ""}, None),
        ({"field": "count", "eq": "3"}, {"count": 3}, None),
        ({"field": "count", "eq": 3}, {"count": 3.0}, None),
        ({"field": "count", "eq": True}, {"count": 1}, "count is 1, not true"),
        ({"field": "title", "isBlank": True}, {"title": ""}, None),
        ({"field": "title", "isBlank": False}, {"title": ""}, "title is blank"),
        ({"field": "title", "isBlank": True}, {"title": "x"}, 'title is "x"'),
        ({"field": "title", "eq": ""}, {"title": ""}, "title is blank, not blank"),
        ({"field": "title", "ne": ""}, {"title": ""}, None),
        ({"not": {"field": "done", "eq": True}}, {"done": True}, "done is true"),
        ({"not": {"field": "done", "eq": True}}, {"done": False}, None),
        (
            {"all": [{"field": "done", "ne": True}, {"field": "status", "eq": "sent"}]},
            {"done": False, "status": "open"},
            'status is "open", not "sent"',
        ),
        (
            {"any": [{"field": "done", "eq": True}, {"field": "status", "eq": "sent"}]},
            {"status": "sent"},
            None,
        ),
        (
            {"any": [{"field": "done", "eq": True}, {"field": "count", "eq": 1}]},
            {},
            "done is blank, not true",
        ),
    ],
)
def test_a_condition_holds_or_gives_its_first_reason(
    predicate: dict[str, Any], record: dict[str, Any], reason: str | None
) -> None:
    assert predicate_problems(predicate, FIELDS) == []
    assert blocked_reason(predicate, record, FIELDS) == reason
    assert applies(predicate, record, FIELDS) is (reason is None)


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(
    "predicate",
    [
        None, "done", 7, {}, {"field": "done"}, {"eq": True}, {"field": "done", "eq": 1, "ne": 2}, {"field": "gone", "eq": 1},
        {"field": ["done"], "eq": 1}, {"field": "done", "like": 1}, {"field": "status", "in": "open"}, {"all": []},
        {"all": {}}, {"any": "x"}, {"not": {"field": "gone", "eq": 1}}, {"all": [{"field": "done", "ne": True}], "not": 1},
        {"field": "title", "isBlank": 1},
    ],
)  # fmt: skip
def test_another_form_is_false_and_a_problem(predicate: object) -> None:
    assert not applies(predicate, {"done": False, "title": "x"}, FIELDS)
    assert predicate_problems(predicate, FIELDS)


def test_a_condition_that_is_nested_without_end_is_false_and_no_crash() -> None:
    predicate: dict[str, Any] = {"field": "done", "ne": True}
    for _ in range(500):
        predicate = {"not": predicate}

    assert not applies(predicate, {}, FIELDS)
    assert predicate_problems(predicate, FIELDS)


Tree = dict[str, Any]


def _leaf(name: str, operator: str, value: object) -> Tree:
    return {"field": name, operator: value}


def _all(branches: list[Tree]) -> Tree:
    return {"all": branches}


def _any(branches: list[Tree]) -> Tree:
    return {"any": branches}


def _not(inner: Tree) -> Tree:
    return {"not": inner}


def _combined(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    branches = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(branches.map(_all), branches.map(_any), inner.map(_not))


_names = st.sampled_from(sorted(FIELDS))
_values = st.one_of(st.booleans(), st.integers(), st.text(max_size=4), st.none())
_leaves = st.one_of(
    st.builds(_leaf, _names, st.sampled_from(["eq", "ne"]), _values),
    st.builds(_leaf, _names, st.sampled_from(["in", "notIn"]), st.lists(_values, max_size=3)),
    st.builds(_leaf, _names, st.just("isBlank"), st.booleans()),
)
_predicates = st.recursive(_leaves, _combined, max_leaves=8)
_records = st.fixed_dictionaries(
    {},
    optional={
        "title": st.one_of(st.none(), st.text(max_size=5)),
        "done": st.one_of(st.none(), st.booleans()),
        "count": st.one_of(st.none(), st.integers(), st.floats(allow_nan=False)),
        "status": st.sampled_from(["open", "sent", ""]),
        "tags": st.lists(st.sampled_from(["a", "b"])),
    },
)


@pytest.mark.requirement("P3")
@given(_predicates, _records)
def test_all_any_and_not_mean_what_they_say(predicate: dict[str, Any], record: dict[str, Any]) -> None:
    assert predicate_problems(predicate, FIELDS) == []
    holds = applies(predicate, record, FIELDS)

    match predicate:
        case {"all": branches}:
            assert holds is all(applies(one, record, FIELDS) for one in branches)
        case {"any": branches}:
            assert holds is any(applies(one, record, FIELDS) for one in branches)
        case {"not": inner}:
            assert holds is not applies(inner, record, FIELDS)
        case {"field": name, "ne": value}:
            assert holds is not applies({"field": name, "eq": value}, record, FIELDS)
        case {"field": name, "eq": value}:
            assert not (holds and (is_blank(record.get(name)) or is_blank(value)))
        case _:
            pass
    reason = blocked_reason(predicate, record, FIELDS)
    assert (reason is None) is holds
    assert reason is None or any(reason.startswith(name) for name in predicate_fields(predicate))


@given(
    st.builds(
        Field,
        name=st.just("x"),
        type=st.sampled_from(FIELD_TYPES),
        required=st.booleans(),
        read_only=st.booleans(),
        max=st.one_of(st.none(), st.integers(0, 10**6)),
        values=st.lists(st.text(min_size=1, max_size=5), max_size=3).map(tuple),
        entity=st.sampled_from(["", "cards"]),
        day_key=st.booleans(),
        description=st.text(max_size=10),
    )
)
def test_a_field_comes_back_from_the_wire_as_it_was(field: Field) -> None:
    assert field_from_wire("x", field_to_wire(field)) == (field, [])


def test_an_operation_comes_back_from_its_file_as_it_was() -> None:
    wire = {"operations": [operation_to_wire(FINISH, with_rules=True)]}

    assert operations_from_wire(msgspec.json.decode(msgspec.json.encode(wire))) == ((FINISH,), [])


def test_the_schema_version_changes_with_what_describe_tells_and_not_else() -> None:
    same = msgspec.structs.replace(MODEL, name="Another name", app_version="2")
    other = msgspec.structs.replace(MODEL, entities=(cards(Field(name="extra", type="json")),))

    assert MODEL.schema_version == same.schema_version
    assert MODEL.schema_version != other.schema_version
