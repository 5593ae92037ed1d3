"""What an author declares, piece by piece: modules, entities with their records, operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from .declaring import FieldDecl, fields_of, fillings_of
from .model.app_model import EntityDecl, EventDecl, ModuleDecl
from .model.fields import Field
from .model.guard import Violation, check_body, coerce_body
from .model.operations import OperationDecl
from .server.records import Filling, Record
from .server.served import Handler, Served

__all__ = ["Declarations", "Entity", "InvalidRecord", "Module"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MOST_RECORDS = 100_000


class InvalidRecord(ValueError):
    """The app's own code writes what the declarations do not allow. `violations` says what."""

    def __init__(self, entity: str, violations: list[Violation]) -> None:
        super().__init__(f"{entity}: " + "; ".join(f"{one.field}: {one.code}" for one in violations))
        self.violations = tuple(violations)


class Entity:
    """A kind of record, and its records, for the app's own code.

    Everything that an operation writes is one transaction with the rest of it; outside of one, each call is.
    """

    def __init__(self, declarations: Declarations, decl: EntityDecl) -> None:
        """For `Module.entity` alone."""
        self._declarations = declarations
        self.decl = decl

    def operation(
        self,
        *,
        params: Mapping[str, FieldDecl] | None = None,
        when: Mapping[str, Any] | None = None,
        name: str = "",
        destructive: bool = False,
        read_only: bool = False,
        idempotent: bool = False,
        is_atomic: bool = True,
    ) -> Callable[[_Function], _Function]:
        """Makes a function an operation on records of the entity; see `Declarations.declare_operation`."""
        return self._declarations.declare_operation(
            module=self.decl.module,
            entity=self.decl.name,
            params=params,
            when=when,
            name=name,
            destructive=destructive,
            read_only=read_only,
            idempotent=idempotent,
            is_atomic=is_atomic,
        )

    def list(self, *, filter: str = "", sort: str = "") -> list[Record]:
        """The records that a filter lets through, in an order; without one in the order in which they came."""
        page = self._declarations.served().records.list(
            self.decl, filter=filter, sort=sort, per_page=_MOST_RECORDS
        )
        return page.items

    def count(self, *, filter: str = "") -> int:
        """How many records a filter lets through."""
        return self._declarations.served().records.list(self.decl, filter=filter, per_page=1).total_items

    def get(self, record_id: str) -> Record | None:
        """One record, or `None`."""
        return self._declarations.served().records.get(self.decl, record_id)

    def create(self, values: Mapping[str, Any], *, record_id: str | None = None) -> Record:
        """Stores a new record and gives it.

        Raises:
            InvalidRecord: The declarations do not allow it.
        """
        return self._declarations.served().records.create(
            self.decl, self._checked(values, is_new=True), record_id=record_id
        )

    def update(self, record_id: str, values: Mapping[str, Any]) -> Record | None:
        """Changes some fields of a record and gives it; `None` where there is none.

        Raises:
            InvalidRecord: The declarations do not allow it.
        """
        return self._declarations.served().records.update(
            self.decl, record_id, self._checked(values, is_new=False)
        )

    def delete(self, record_id: str) -> bool:
        """Removes a record; whether there was one."""
        return self._declarations.served().records.delete(self.decl, record_id)

    def _checked(self, values: Mapping[str, Any], *, is_new: bool) -> dict[str, Any]:
        # The app's own code may write what is read-only for everybody else.
        fields: list[Field] = [msgspec.structs.replace(field, read_only=False) for field in self.decl.fields]
        if violations := check_body(fields, values, requires_all=is_new):
            raise InvalidRecord(self.decl.name, violations)
        return coerce_body(fields, values)


class Module:
    """A part of an app, to which entities and operations belong."""

    def __init__(self, declarations: Declarations, decl: ModuleDecl) -> None:
        """For `App.module` alone."""
        self._declarations = declarations
        self.decl = decl

    def entity(
        self,
        name: str,
        fields: Mapping[str, FieldDecl],
        *,
        summary: str = "",
        auth: bool = False,
        seed: Iterable[Mapping[str, Any]] = (),
    ) -> Entity:
        """Declares a kind of record.

        Args:
            name: Its name, also in URLs: mostly a plural, such as `cards`.
            fields: Its fields by name, in order.
            summary: One line.
            auth: Its records are the app's users.
            seed: Records that are there at the very first start; each may bring its `id`.
        """
        return self._declarations.declare_entity(
            EntityDecl(
                name=name, module=self.decl.name, fields=fields_of(fields), summary=summary, auth=auth
            ),
            fillings=fillings_of(fields),
            seed=seed,
        )

    def operation(
        self,
        *,
        params: Mapping[str, FieldDecl] | None = None,
        name: str = "",
        destructive: bool = False,
        read_only: bool = False,
        idempotent: bool = False,
        is_atomic: bool = True,
    ) -> Callable[[_Function], _Function]:
        """Makes a function an operation of the module; see `Declarations.declare_operation`."""
        return self._declarations.declare_operation(
            module=self.decl.name,
            params=params,
            name=name,
            destructive=destructive,
            read_only=read_only,
            idempotent=idempotent,
            is_atomic=is_atomic,
        )


class Declarations:
    """All that was declared so far, in its order.

    Attributes:
        modules: Modules.
        entities: Entities.
        operations: Operations.
        events: Kinds of events.
        handlers: The code of operations by name.
        fillings: What the app itself puts into fields, by entity and field.
        seeds: Records for the very first start.
        problems: What is wrong with functions, one message each.
    """

    def __init__(self, served: Callable[[], Served]) -> None:
        """`served` gives the running parts."""
        self.served = served
        self.modules: list[ModuleDecl] = []
        self.entities: list[EntityDecl] = []
        self.operations: list[OperationDecl] = []
        self.events: list[EventDecl] = []
        self.handlers: dict[str, Handler] = {}
        self.fillings: dict[str, dict[str, Filling]] = {}
        self.seeds: list[tuple[Entity, tuple[Mapping[str, Any], ...]]] = []
        self.problems: list[str] = []

    def declare_entity(
        self, decl: EntityDecl, *, fillings: dict[str, Filling], seed: Iterable[Mapping[str, Any]]
    ) -> Entity:
        """Declares an entity from its parts; authors call `Module.entity`."""
        entity = Entity(self, decl)
        self.entities.append(decl)
        self.fillings[decl.name] = fillings
        self.seeds.append((entity, tuple(seed)))
        return entity

    def declare_operation(
        self,
        *,
        module: str,
        entity: str = "",
        params: Mapping[str, FieldDecl] | None = None,
        when: Mapping[str, Any] | None = None,
        name: str = "",
        destructive: bool = False,
        read_only: bool = False,
        idempotent: bool = False,
        is_atomic: bool = True,
    ) -> Callable[[_Function], _Function]:
        """Makes a function an operation; authors use the decorators of `Module` and `Entity`.

        The function takes each parameter by its name; one that was not sent is not passed. It gives a JSON value. A plain
        function runs in a thread, a coroutine function on the server's loop. The first line of its docstring is the
        operation's description.

        Args:
            module: The module that it belongs to.
            entity: The entity that it acts on.
            params: Its parameters by name.
            when: When it applies to a record: the predicate `appliesWhen`.
            name: What it is called by; the function's name with "-" for "_" where nothing is given.
            destructive: Each call needs an approval.
            read_only: It changes nothing; whatever it writes is refused.
            idempotent: Twice is as once.
            is_atomic: All that it writes is one transaction, during which nobody else writes. Turn it off for one that
                waits for something slow; then each of its writes is a transaction.
        """

        def declare(function: _Function) -> _Function:
            fields = fields_of(params or {})
            chosen = name or function.__name__.strip("_").replace("_", "-")
            self.problems += [f'operation "{chosen}" {one}' for one in _signature_problems(function, fields)]
            self.handlers[chosen] = Handler(function, inspect.iscoroutinefunction(function), is_atomic)
            self.operations.append(
                OperationDecl(
                    name=chosen,
                    destructive=destructive,
                    module=module,
                    params=fields,
                    description=(inspect.getdoc(function) or "").partition("\n")[0],
                    read_only=read_only or None,
                    idempotent=idempotent or None,
                    entity=entity,
                    applies_when=when,
                )
            )
            return function

        return declare


def _signature_problems(function: Callable[..., Any], params: tuple[Field, ...]) -> list[str]:
    signature = inspect.signature(function)
    try:
        signature.bind(**{one.name: None for one in params if one.required})
        signature.bind(**{one.name: None for one in params})
    except TypeError as error:
        return [f"does not fit its function {function.__name__}{signature}: {error}"]
    return []
