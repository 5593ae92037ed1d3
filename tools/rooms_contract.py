"""The import-linter contract that reads the table of rooms: which room may use which.

`.importlinter` holds the table, one line a room (`seats: store, host, ...`). A room that is not in the table
is an error, and so is an import that its line does not name; a room in the table that does not exist yet is
not. Only direct imports are looked at: since every room has a line, nothing can be reached around it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

__all__ = ["RoomsContract", "Violation", "find_violations", "parse_table"]


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One import, or one room, that the table does not allow."""

    importer: str
    imported: str
    reason: str


def parse_table(lines: Iterable[str]) -> dict[str, frozenset[str]]:
    """Read `room: other, another` lines.

    Raises:
        ValueError: a line has no colon, or names a room twice, or uses a room that has no line.
    """
    table: dict[str, frozenset[str]] = {}
    for line in lines:
        room, colon, used = line.partition(":")
        if not colon:
            raise ValueError(f"{line!r} is not of the form `room: room, room`")
        if room.strip() in table:
            raise ValueError(f"room {room.strip()!r} has two lines")
        table[room.strip()] = frozenset(name.strip() for name in used.split(",") if name.strip())
    for room, used_rooms in table.items():
        if unknown := sorted(used_rooms - table.keys()):
            raise ValueError(f"room {room!r} uses {', '.join(unknown)}, which has no line")
    return table


def find_violations(
    graph: ImportGraph, *, package: str, table: dict[str, frozenset[str]], sealed: frozenset[str]
) -> list[Violation]:
    """Compare every direct import inside `package` with the table, in a stable order.

    Args:
        graph: the imports, as grimp sees them.
        package: the root package; its own `__init__` is the room of that name, which every room may import.
        table: what `parse_table` gives.
        sealed: modules and packages that may import nothing of the package but what is inside them.
    """
    found = list(_unlisted_rooms(graph, package=package, table=table))
    for importer in sorted(graph.modules):
        room = _room_of(importer, package=package)
        if room is None:
            continue
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            used = _room_of(imported, package=package)
            if used is None:
                continue
            seal = next((one for one in sealed if _is_within(importer, one)), None)
            if seal is not None:
                if not _is_within(imported, seal):
                    found.append(
                        _violation(importer, imported, "is sealed: it may import nothing of the package")
                    )
            elif used not in (room, package) and used not in table.get(room, frozenset()):
                allowed = ", ".join(sorted(table.get(room, frozenset()))) or "no other room"
                found.append(_violation(importer, imported, f"is in {room!r}, which may use {allowed}"))
    return found


def _is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


class RoomsContract(Contract):
    """Every room of the package imports only the rooms that its line in the table names."""

    type_name = "rooms"

    package = fields.StringField()
    may_use = fields.ListField(subfield=fields.StringField())
    sealed_modules = fields.SetField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - import-linter's signature
        """Collect the violations for import-linter's report."""
        output.verbose_print(verbose, "Comparing every direct import with the table of rooms...")
        violations = find_violations(
            graph,
            package=str(self.package),
            table=parse_table(cast("list[str]", self.may_use)),
            sealed=frozenset(cast("set[str] | None", self.sealed_modules) or ()),
        )
        return ContractCheck(kept=not violations, metadata={"violations": violations})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each violation with the rule that it breaks."""
        for violation in check.metadata["violations"]:
            output.print_error(f"{violation.importer} -> {violation.imported}", bold=True)
            output.indent_cursor()
            output.print_error(f"{violation.importer} {violation.reason}", bold=False)


def _room_of(module: str, *, package: str) -> str | None:
    parts = module.split(".")
    if parts[0] != package:
        return None
    return parts[1] if len(parts) > 1 else package


def _unlisted_rooms(
    graph: ImportGraph, *, package: str, table: dict[str, frozenset[str]]
) -> Iterator[Violation]:
    rooms = {_room_of(module, package=package) for module in graph.modules} - {None}
    for room in sorted(room for room in rooms if room and room not in table):
        yield _violation(f"{package}.{room}", "(nothing yet)", "has no line in the table of rooms; add one")


def _violation(importer: str, imported: str, reason: str) -> Violation:
    return Violation(importer=importer, imported=imported, reason=reason)
