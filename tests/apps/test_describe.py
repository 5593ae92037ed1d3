"""The describe walk: what each level tells, that it fits its budget whatever the app, and that nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.apps.conformance.reference import make_reference_app
from inspan.apps.model.app_model import AppModel, EntityDecl, ModuleDecl, model_problems
from inspan.apps.model.describe import (
    BUDGET_CHARACTERS,
    describe_entity,
    describe_module,
    describe_record,
    describe_relation,
    describe_root,
    find_names,
    level_characters,
)
from inspan.apps.model.fields import Field
from inspan.apps.model.operations import OperationDecl
from inspan.apps.server.caller import Scopes, all_scopes
from support.apps.served import serving

_words = st.text(alphabet='abcé "\\\n日', max_size=200)
_name = st.from_regex(r"[a-z][a-z0-9-]{0,31}", fullmatch=True)


@st.composite
def models(draw: st.DrawFn) -> AppModel:
    """Models of up to 120 modules, entities and operations, with texts that take more room than they look."""
    modules = draw(st.lists(_name, min_size=1, max_size=40, unique=True))
    names = draw(st.lists(_name, min_size=1, max_size=60, unique=True))
    fields = (
        Field(name="title", type="string", required=True),
        Field(name="others", type="list<ref>", entity=names[0]),
    )
    entities = tuple(
        EntityDecl(name=name, module=draw(st.sampled_from(modules)), fields=fields, summary=draw(_words))
        for name in names
    )
    operations: list[OperationDecl] = []
    for number in range(draw(st.integers(0, 60))):
        entity = draw(st.one_of(st.none(), st.sampled_from(entities[:3])))
        params = tuple(
            Field(name=f"p{one}", type="string", description=draw(_words))
            for one in range(draw(st.integers(0, 4)))
        )
        operations.append(
            OperationDecl(
                name=f"o{number}" + "x" * draw(st.integers(0, 40)),
                destructive=draw(st.booleans()),
                module=entity.module if entity else draw(st.sampled_from(modules)),
                entity=entity.name if entity else "",
                params=params,
                description=draw(_words),
                applies_when={"field": "title", "in": ["x" * 50] * 40} if entity else None,
            )
        )
    summaries = tuple(ModuleDecl(name=name, summary=draw(_words)) for name in modules)
    return AppModel(
        id="app",
        name="A" * draw(st.integers(1, 80)),
        modules=summaries,
        entities=entities,
        operations=tuple(operations),
    )


@pytest.mark.requirement("P5")
@settings(max_examples=60)
@given(models(), st.text(max_size=300), st.integers(0, 400))
def test_every_level_fits_and_counts_what_it_leaves_out(model: AppModel, title: str, count: int) -> None:
    assert model_problems(model) == []
    access = all_scopes(model)
    first = model.entities[0]
    record: dict[str, Any] = {"id": "r" * 64, "title": title, "others": [str(one) for one in range(count)]}
    pointed = [{"id": f"{one:064}", "title": title} for one in range(count)]
    levels: list[tuple[dict[str, Any], int | None, tuple[str, ...]]] = [
        (describe_root(model, access), len(model.modules), ("modules",)),
        (find_names(model, "o", access), None, ("matches",)),
        (describe_relation(first, "r" * 64, "others", first, pointed), count, ("items",)),
    ]
    for module in model.modules:
        owned = sum(one.module == module.name for one in model.entities)
        owned += sum(one.module == module.name and not one.entity for one in model.operations)
        levels.append((describe_module(model, module, access), owned, ("entities", "operations")))
    for entity in model.entities:
        acting = sum(one.entity == entity.name for one in model.operations)
        levels.append((describe_entity(model, entity, access), acting, ("operations",)))
        levels.append(
            (describe_record(model, entity, record, access), acting + 1, ("operations", "relations"))
        )

    for level, total, lists in levels:
        assert level_characters(level) <= BUDGET_CHARACTERS, level["level"]
        shown = sum(len(level.get(name, [])) for name in lists)
        assert level["next"]
        if total is not None:
            assert shown + level.get("truncated", 0) == total
        assert level.get("truncated", 1) > 0


@pytest.mark.requirement("P5")
@settings(max_examples=30)
@given(models())
def test_all_gives_back_what_was_left_out(model: AppModel) -> None:
    access = all_scopes(model)

    root = describe_root(model, access, show_all=True)
    assert [row["name"] for row in root["modules"]] == [module.name for module in model.modules]
    for module in model.modules:
        level = describe_module(model, module, access, show_all=True)
        assert [row["name"] for row in level["entities"]] == [
            e.name for e in model.entities if e.module == module.name
        ]
        assert "truncated" not in level
    for entity in model.entities:
        level = describe_entity(model, entity, access, show_all=True)
        assert [row["name"] for row in level["operations"]] == [
            o.name for o in model.operations if o.entity == entity.name
        ]
    assert "truncated" not in find_names(model, "", access, show_all=True)


def model_of(entities: int, *, summary: str = "") -> AppModel:
    fields = (Field(name="title", type="string", required=True),)
    return AppModel(
        id="big",
        name="Big",
        modules=(ModuleDecl(name="all", summary="Everything."),),
        entities=tuple(
            EntityDecl(name=f"entity{one}", module="all", fields=fields, summary=summary)
            for one in range(entities)
        ),
    )


def test_summaries_go_before_rows() -> None:
    model = model_of(40, summary="About forty of these with a summary that is long.")

    level = describe_module(model, model.modules[0], all_scopes(model))

    assert len(level["entities"]) == 40
    assert "truncated" not in level
    assert "summary" not in level["entities"][0]


def test_the_root_of_many_modules_drops_summaries_first_and_then_counts_modules() -> None:
    some = AppModel(
        id="a", name="A", modules=tuple(ModuleDecl(name=f"m{one}", summary="s" * 100) for one in range(15))
    )
    many = AppModel(
        id="a", name="A", modules=tuple(ModuleDecl(name=f"module-number-{one}") for one in range(100))
    )

    level = describe_root(some, all_scopes(some))
    assert (len(level["modules"]), level.get("truncated")) == (15, None)
    assert "summary" not in level["modules"][0]
    level = describe_root(many, all_scopes(many))
    assert len(level["modules"]) + level["truncated"] == 100
    assert "describe?all=true" in level["next"]


@pytest.mark.requirement("P5")
def test_fields_are_never_left_out_whatever_the_budget() -> None:
    fields = tuple(Field(name=f"field{one}", type="string", max=100) for one in range(100))
    model = AppModel(
        id="a",
        name="A",
        modules=(ModuleDecl(name="m"),),
        entities=(EntityDecl(name="wide", module="m", fields=fields),),
        operations=(OperationDecl(name="act", destructive=False, module="m", entity="wide"),),
    )

    level = describe_entity(model, model.entities[0], all_scopes(model))

    assert len(level["fields"]) == 100
    assert (level["operations"], level["truncated"]) == ([], 1)


def test_what_is_write_only_is_not_told() -> None:
    fields = (Field(name="name", type="string"), Field(name="password", type="string", write_only=True))
    model = AppModel(
        id="a",
        name="A",
        modules=(ModuleDecl(name="m"),),
        entities=(EntityDecl(name="users", module="m", fields=fields),),
    )

    assert list(describe_entity(model, model.entities[0], all_scopes(model))["fields"]) == ["name"]


def test_a_caller_is_told_where_it_may_not_go() -> None:
    fields = (Field(name="title", type="string"),)
    model = AppModel(
        id="a",
        name="A",
        modules=(
            ModuleDecl(name="open"),
            ModuleDecl(name="half"),
            ModuleDecl(name="shut"),
            ModuleDecl(name="acts"),
        ),
        entities=(
            EntityDecl(name="one", module="open", fields=fields),
            EntityDecl(name="two", module="half", fields=fields),
            EntityDecl(name="three", module="shut", fields=fields),
        ),
        operations=(OperationDecl(name="go", destructive=False, module="acts"),),
    )
    access = Scopes(["data:one:read", "data:one:write", "data:two:read", "op:go"])

    reach = {row["name"]: row["access"] for row in describe_root(model, access)["modules"]}

    assert reach == {"open": "full", "half": "read-only", "shut": "none", "acts": "full"}
    assert describe_module(model, model.modules[2], access)["entities"] == []
    assert find_names(model, "three", access)["matches"] == []


@pytest.mark.requirement("P5")
def test_over_http_each_level_leads_to_the_next(tmp_path: Path) -> None:
    app = make_reference_app(tmp_path)
    with serving(app) as here:
        root = here.get("/api/_a2app/describe").body
        module = here.get("/api/_a2app/describe/board/").body
        entity = here.get("/api/_a2app/describe/board/cards").body
        record = here.get("/api/_a2app/describe/board/cards/card_seed").body
        found = here.get("/api/_a2app/describe?find=CARD").body

    assert root["modules"][0] | {"summary": ""} == {
        "name": "board", "entities": 2, "operations": 3, "access": "full", "summary": ""
    }  # fmt: skip
    assert [row["name"] for row in module["operations"]] == ["archive-board", "count-cards"]
    assert entity["fields"]["due"] == {"type": "string", "max": 10, "format": "YYYY-MM-DD"}
    assert record["operations"] == [{"name": "finish-card", "available": True}]
    assert found["matches"][0] == {"path": "board/cards", "level": "entity"}
    assert {"path": "board", "operation": "count-cards"} in found["matches"]


@pytest.mark.requirement("P5")
@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("nope", 404, "unknown_module"),
        ("board/nope", 404, "unknown_entity"),
        ("board/cards/nope", 404, "record_not_found"),
        ("board/cards/card_seed/nope", 404, "unknown_relation"),
        ("board/cards/card_seed/list", 404, "unknown_relation"),
        ("board/cards/card_seed/a/b", 404, "usage"),
        ("board//cards", 404, "usage"),
        ("board/cards/" + quote("../../x", safe=""), 404, "record_not_found"),
        ("board/cards/%00", 404, "record_not_found"),
        ("board/%ff", 400, "usage"),
        ("?find=", 400, "usage"),
        ("?find=" + "x" * 101, 400, "usage"),
        ("x" * 3000, 404, "unknown_module"),
    ],
)
def test_a_wrong_turn_is_named(tmp_path: Path, path: str, status: int, code: str) -> None:
    with serving(make_reference_app(tmp_path)) as here:
        answer = here.get("/api/_a2app/describe" + ("" if path.startswith("?") else "/") + path)

    assert (answer.status, answer.code) == (status, code)
    assert len(str(answer.body)) < 2000


def test_describe_is_read_and_never_posted(tmp_path: Path) -> None:
    with serving(make_reference_app(tmp_path)) as here:
        assert here.post("/api/_a2app/describe", {}).status == 405
