"""What the author of an app imports: `App`, its modules, entities, operations and events, and the words for fields.

```python
from inspan.apps.author import App, choice, day, flag, ref, text

app = App("Errands")
home = app.module("home", "What is to be done.")
errands = home.entity("errands", {"title": text(required=True, max=200), "due": day(), "done": flag()})


@errands.operation(when={"field": "done", "ne": True}, params={"errand": ref("errands", required=True)})
def finish(errand: str) -> object:
    \"\"\"Mark one errand done.\"\"\"
    return errands.update(errand, {"done": True})


if __name__ == "__main__":
    app.serve()
```
"""

from __future__ import annotations

import inspect
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from .declaring import (
    FieldDecl,
    binary,
    choice,
    choices,
    day,
    fields_of,
    fillings_of,
    flag,
    json,
    moment,
    number,
    ref,
    refs,
    text,
)
from .files import write_atomically
from .model.app_model import AppModel, EntityDecl, EventDecl, ModelProblems, ModuleDecl, model_problems
from .model.fields import Field
from .model.guard import Violation, check_body, coerce_body
from .model.manifest import AGENT_APP_VERSION, DEFAULT_PORT, MANIFEST, OPERATIONS, TOKEN, AppFolder, read_app
from .model.operations import OperationDecl, operation_to_wire
from .page.files import PageFiles, default_page
from .server.asgi import Application, Asgi
from .server.caller import Caller, Grant
from .server.clock import Clock, system_clock
from .server.database import Database
from .server.gate import DEFAULT_HINT, Gate, Principal
from .server.ledger import AuditEntry
from .server.operation_routes import Refusal, current_caller
from .server.rates import RateLimits
from .server.records import Filling, Record
from .server.running import run
from .server.served import Handler, Served, Triggered
from .server.tasks import LEASE_S

__all__ = [
    "App",
    "Entity",
    "InvalidRecord",
    "Module",
    "Refusal",
    "binary",
    "choice",
    "choices",
    "day",
    "flag",
    "json",
    "moment",
    "number",
    "ref",
    "refs",
    "text",
]

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

    def __init__(self, app: App, decl: EntityDecl) -> None:
        """For `Module.entity` alone."""
        self._app = app
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
        """Makes a function an operation on records of the entity; see `App.declare_operation`."""
        return self._app.declare_operation(
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
        page = self._app.served.records.list(self.decl, filter=filter, sort=sort, per_page=_MOST_RECORDS)
        return page.items

    def count(self, *, filter: str = "") -> int:
        """How many records a filter lets through."""
        return self._app.served.records.list(self.decl, filter=filter, per_page=1).total_items

    def get(self, record_id: str) -> Record | None:
        """One record, or `None`."""
        return self._app.served.records.get(self.decl, record_id)

    def create(self, values: Mapping[str, Any], *, record_id: str | None = None) -> Record:
        """Stores a new record and gives it.

        Raises:
            InvalidRecord: The declarations do not allow it.
        """
        return self._app.served.records.create(
            self.decl, self._checked(values, is_new=True), record_id=record_id
        )

    def update(self, record_id: str, values: Mapping[str, Any]) -> Record | None:
        """Changes some fields of a record and gives it; `None` where there is none.

        Raises:
            InvalidRecord: The declarations do not allow it.
        """
        return self._app.served.records.update(self.decl, record_id, self._checked(values, is_new=False))

    def delete(self, record_id: str) -> bool:
        """Removes a record; whether there was one."""
        return self._app.served.records.delete(self.decl, record_id)

    def _checked(self, values: Mapping[str, Any], *, is_new: bool) -> dict[str, Any]:
        # The app's own code may write what is read-only for everybody else.
        fields: list[Field] = [msgspec.structs.replace(field, read_only=False) for field in self.decl.fields]
        if violations := check_body(fields, values, requires_all=is_new):
            raise InvalidRecord(self.decl.name, violations)
        return coerce_body(fields, values)


class Module:
    """A part of an app, to which entities and operations belong."""

    def __init__(self, app: App, decl: ModuleDecl) -> None:
        """For `App.module` alone."""
        self._app = app
        self.decl = decl

    def entity(
        self,
        name: str,
        fields: Mapping[str, FieldDecl],
        *,
        summary: str = "",
        seed: Iterable[Mapping[str, Any]] = (),
    ) -> Entity:
        """Declares a kind of record.

        Args:
            name: Its name, also in URLs: mostly a plural, such as `cards`.
            fields: Its fields by name, in order.
            summary: One line.
            seed: Records that are there at the very first start; each may bring its `id`.
        """
        return self._app.declare_entity(
            EntityDecl(name=name, module=self.decl.name, fields=fields_of(fields), summary=summary),
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
        """Makes a function an operation of the module; see `App.declare_operation`."""
        return self._app.declare_operation(
            module=self.decl.name,
            params=params,
            name=name,
            destructive=destructive,
            read_only=read_only,
            idempotent=idempotent,
            is_atomic=is_atomic,
        )


class App:
    """An app: what it declares, and the server of it.

    Attributes:
        folder: Where it stands.
        grants: Who may do what; the holder of the folder's `.agent-token` everything.
    """

    def __init__(
        self,
        name: str = "",
        *,
        folder: Path | str | None = None,
        app_id: str = "",
        page: Path | str | None = None,
        auth_mode: Literal["none", "multi-user"] = "none",
        principal_of: Principal | None = None,
        grants: Iterable[Grant] = (),
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        conventions: Mapping[str, str] | None = None,
        credential_hint: str = DEFAULT_HINT,
        clock: Clock = system_clock,
        limits: RateLimits | None = None,
        lease_s: float = LEASE_S,
    ) -> None:
        """Declares an app.

        Args:
            name: What a person calls it. A manifest in the folder wins, for the id too.
            folder: Where it stands; the folder of the file that makes it, if that is a program, else where it runs.
            app_id: Who it is; made from the name where there is neither this nor a manifest.
            page: A folder of files to show instead of the page that suits every app.
            auth_mode: Whether it has one user or several.
            principal_of: For an app of several users: whose an `Authorization` header is.
            grants: Who may do what, beside the folder's token.
            hosts: Names that it is reached by beside the loopback's.
            origins: Origins of its page beside its own address.
            conventions: What an agent must know beyond the usual, by topic.
            credential_hint: How to get a credential.
            clock: Gives the time.
            limits: Calls a minute.
            lease_s: How long nothing may be heard of a task that is worked at, in seconds.

        Raises:
            ManifestError: The folder's manifest cannot be used.
        """
        self.folder = Path(folder).resolve() if folder is not None else _own_folder()
        self._disk = read_app(self.folder) if (self.folder / MANIFEST).is_file() else None
        self._name = name or self.folder.name
        self._app_id = app_id or re.sub(r"[^a-z0-9]+", "-", self._name.lower()).strip("-")[:64] or "app"
        self._page = page
        self._auth_mode: Literal["none", "multi-user"] = auth_mode
        self._principal_of = principal_of
        self._hosts = tuple(hosts)
        self._origins = tuple(origins)
        self._conventions = dict(conventions or {})
        self._hint = credential_hint
        self._clock = clock
        self._limits = limits
        self._lease_s = lease_s
        self.grants = [*grants, *_folder_grants(self._disk)]
        self._modules: list[ModuleDecl] = []
        self._entities: list[EntityDecl] = []
        self._operations: list[OperationDecl] = []
        self._events: list[EventDecl] = []
        self._handlers: dict[str, Handler] = {}
        self._fillings: dict[str, dict[str, Filling]] = {}
        self._seeds: list[tuple[Entity, tuple[Mapping[str, Any], ...]]] = []
        self._problems: list[str] = []
        self._served: Served | None = None

    def module(self, name: str, summary: str = "") -> Module:
        """Declares a module."""
        decl = ModuleDecl(name=name, summary=summary)
        self._modules.append(decl)
        return Module(self, decl)

    def event(self, event_type: str, description: str = "") -> None:
        """Declares a kind of event, such as `card.due_soon`."""
        self._events.append(EventDecl(type=event_type, description=description))

    def trigger(
        self,
        event_type: str,
        payload: Mapping[str, Any],
        *,
        capability: str | None = None,
        dedup_key: str | None = None,
    ) -> Triggered:
        """Says that something happened and, with a capability, gives an agent that has it a task.

        Args:
            event_type: One of the declared types.
            payload: What it is about: a JSON value.
            capability: What the agent must be able to do, such as `summarize`.
            dedup_key: Names the occurrence: of one key there is one task, ever. Without it, of one type, capability and
                payload there is one task at a time.

        Raises:
            ValueError: The type is not declared, or the payload is no JSON value.
        """
        return self.served.trigger(event_type, dict(payload), capability=capability, dedup_key=dedup_key)

    @property
    def caller(self) -> Caller | None:
        """Who called the operation that runs; `None` outside of one."""
        return current_caller.get()

    @property
    def model(self) -> AppModel:
        """What was declared so far."""
        manifest = self._disk.manifest if self._disk is not None else None
        return AppModel(
            id=manifest.id if manifest else self._app_id,
            name=manifest.name if manifest else self._name,
            modules=tuple(self._modules),
            entities=tuple(self._entities),
            operations=tuple(self._operations),
            events=tuple(self._events),
            auth_mode=manifest.auth_mode if manifest else self._auth_mode,
            adapter_version=manifest.adapter_version if manifest else AGENT_APP_VERSION,
            app_version=manifest.app_version if manifest else "",
            env=_environment() or (manifest.env if manifest else None),
            conventions=self._conventions,
        )

    @property
    def served(self) -> Served:
        """The running parts; opened at the first use, in `$A2APP_DATA_DIR` or the folder's `data`."""
        return self._served if self._served is not None else self.open()

    def open(self, data: Path | None = None) -> Served:
        """Opens the database and puts the parts together.

        Args:
            data: The folder of the database.

        Raises:
            ModelProblems: The declarations cannot be served; all problems are named.
            StoreError: The database cannot be used.
        """
        model = self.model
        if problems := [*self._problems, *model_problems(model)]:
            raise ModelProblems(problems)
        self.close()
        path = data or Path(os.environ.get("A2APP_DATA_DIR") or self.folder / "data")
        database = Database(path / "app.db")
        gate = Gate(
            model,
            self.grants,
            hosts=self._hosts,
            origins=self._origins,
            hint=self._hint,
            principal_of=self._principal_of,
        )
        self._served = Served(
            model,
            database,
            gate,
            clock=self._clock,
            handlers=self._handlers,
            fillings=self._fillings,
            limits=self._limits,
            lease_s=self._lease_s,
        )
        if database.is_new:
            with database.writing():
                for entity, records in self._seeds:
                    for record in records:
                        values = {key: value for key, value in record.items() if key != "id"}
                        entity.create(values, record_id=record.get("id"))
                database.mark_filled()
        return self._served

    def close(self) -> None:
        """Closes the database; calling it twice is safe."""
        if self._served is not None:
            self._served.database.close()
            self._served = None

    def asgi(self) -> Asgi:
        """The app as ASGI, its page included, for any server."""
        page = PageFiles(self.folder / self._page) if self._page is not None else default_page()
        return Application(self.served, page)

    def serve(self, *, port: int | None = None) -> None:
        """Serves the app on 127.0.0.1 until SIGINT or SIGTERM.

        A token is minted where the folder has none, and `operations.json` is written where it differs from what is
        declared.

        Args:
            port: Which; else `$PORT`, else the manifest's.
        """
        if self._disk is None or self._disk.token is None:
            self._mint_token()
        self.write_operations()
        given = os.environ.get("PORT", "")
        chosen = port or (int(given) if given.isdigit() else 0)
        chosen = chosen or (self._disk.manifest.port if self._disk is not None else DEFAULT_PORT)
        asgi = self.asgi()
        print(f"{self.model.name} is at http://127.0.0.1:{chosen}", file=sys.stderr, flush=True)
        try:
            run(asgi, port=chosen)
        finally:
            self.close()

    def write_operations(self) -> None:
        """Writes what is declared to `operations.json`, if that says something else."""
        listed = [operation_to_wire(operation, with_rules=True) for operation in self._operations]
        wanted = msgspec.json.format(msgspec.json.encode({"operations": listed}), indent=2) + b"\n"
        path = self.folder / OPERATIONS
        if not path.exists() or path.read_bytes() != wanted:
            write_atomically(path, wanted, mode=0o644)

    def audit(self, limit: int = 5000) -> list[AuditEntry]:
        """The newest writes that were made or refused, the oldest of them first."""
        return self.served.audit.entries(limit)

    def declare_entity(
        self, decl: EntityDecl, *, fillings: dict[str, Filling], seed: Iterable[Mapping[str, Any]]
    ) -> Entity:
        """Declares an entity from its parts; authors call `Module.entity`."""
        entity = Entity(self, decl)
        self._entities.append(decl)
        self._fillings[decl.name] = fillings
        self._seeds.append((entity, tuple(seed)))
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
            self._problems += [f'operation "{chosen}" {one}' for one in _signature_problems(function, fields)]
            self._handlers[chosen] = Handler(function, inspect.iscoroutinefunction(function), is_atomic)
            self._operations.append(
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

    def _mint_token(self) -> None:
        minted = f"a2app_{secrets.token_urlsafe(24)}"
        path = self.folder / TOKEN
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            return
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(minted + "\n")
        self.grants.append(_folder_grant(minted))


def _own_folder() -> Path:
    """The folder of the program that runs, if it is a file."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(main).resolve().parent if main else Path.cwd()


def _folder_grants(disk: AppFolder | None) -> list[Grant]:
    return [] if disk is None or disk.token is None else [_folder_grant(disk.token)]


def _folder_grant(token: str) -> Grant:
    return Grant(token=token, credential_id="cred_local", agent_name="agent", principal="owner")


def _environment() -> Literal["dev", "live"] | None:
    match os.environ.get("A2APP_ENV"):
        case "dev":
            return "dev"
        case "live":
            return "live"
        case _:
            return None


def _signature_problems(function: Callable[..., Any], params: tuple[Field, ...]) -> list[str]:
    signature = inspect.signature(function)
    try:
        signature.bind(**{one.name: None for one in params if one.required})
        signature.bind(**{one.name: None for one in params})
    except TypeError as error:
        return [f"does not fit its function {function.__name__}{signature}: {error}"]
    return []
