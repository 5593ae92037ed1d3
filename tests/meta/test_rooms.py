"""The contract of the rooms finds each kind of import that the table does not allow."""

import configparser
from pathlib import Path

import pytest
from grimp import ImportGraph

from rooms_contract import find_violations, parse_table

ROOT = Path(__file__).resolve().parents[2]
TABLE = {
    "shop": frozenset({"till"}),
    "till": frozenset({"stock"}),
    "stock": frozenset[str](),
    "later": frozenset[str](),
}


def _graph(*imports: tuple[str, str]) -> ImportGraph:
    graph = ImportGraph()
    for module in ("shop", "shop.till.drawer", "shop.stock.shelf", "shop.stock.label", "json"):
        graph.add_module(module)
    for importer, imported in imports:
        graph.add_import(importer=importer, imported=imported)
    return graph


def _violations(*imports: tuple[str, str], sealed: str = "") -> list[tuple[str, str]]:
    found = find_violations(
        _graph(*imports), package="shop", table=TABLE, sealed=frozenset({sealed} if sealed else ())
    )
    return [(one.importer, one.imported) for one in found]


@pytest.mark.parametrize(
    "allowed",
    [
        pytest.param(("shop.till.drawer", "shop.stock.shelf"), id="a room that its line names"),
        pytest.param(("shop.stock.label", "shop.stock.shelf"), id="its own room"),
        pytest.param(("shop.stock.label", "json"), id="another package"),
        pytest.param(("shop.stock.label", "shop"), id="the root of the package"),
        pytest.param(("shop", "shop.till.drawer"), id="from the root what the root's line names"),
    ],
)
def test_what_the_table_allows_is_no_violation(allowed: tuple[str, str]) -> None:
    assert _violations(allowed) == []


@pytest.mark.parametrize(
    "forbidden",
    [
        pytest.param(("shop.stock.shelf", "shop.till.drawer"), id="a room above"),
        pytest.param(("shop", "shop.stock.shelf"), id="from the root what its line does not name"),
        pytest.param(("shop.cellar.door", "json"), id="from a room that has no line"),
    ],
)
def test_what_the_table_does_not_allow_is_a_violation(forbidden: tuple[str, str]) -> None:
    [(importer, _)] = _violations(forbidden)

    assert forbidden[0].startswith(importer)


@pytest.mark.parametrize("imported", ["shop", "shop.stock.shelf"])
def test_a_sealed_module_imports_nothing_of_the_package(imported: str) -> None:
    edge = ("shop.stock.label", imported)

    assert _violations(edge) == []
    assert _violations(edge, sealed="shop.stock.label") == [edge]


@pytest.mark.parametrize("lines", [["till stock"], ["till:", "till:"], ["till: stock"]])
def test_a_table_that_is_wrong_in_one_way_is_refused(lines: list[str]) -> None:
    with pytest.raises(ValueError, match="room"):
        parse_table(lines)


def test_the_table_of_this_project_says_what_the_architecture_says() -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter", encoding="utf-8")
    contract = parser["importlinter:contract:rooms"]
    table = parse_table(contract["may_use"].strip().splitlines())

    assert table["model"] == frozenset()
    assert table["agent"] == table["client"] == {"model", "home"}, "the agent is a harness, and stands apart"
    assert table["harnesses"] == {"plugin", "model"}
    assert table["conformance"] == {"plugin", "model", "transports"}
    assert table["store"] == table["holder"] == table["plugin"] == {"model"}
    assert not table["cli"] & {"seats", "daemon", "transports", "plugin"}
    assert not any("harnesses" in used or "cli" in used for room, used in table.items() if room != "__main__")
    assert contract["sealed_modules"].split() == ["inspan.holder.program", "inspan.hooks.relay"]
