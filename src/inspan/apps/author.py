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

import os
import re
import secrets
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from inspan.model.errors import UsageError

from .authoring import Declarations, Entity, InvalidRecord, Module
from .declaring import binary, choice, choices, day, flag, json, moment, number, ref, refs, text
from .files import write_atomically
from .model.app_model import AppModel, EventDecl, ModelProblems, ModuleDecl, model_problems
from .model.manifest import AGENT_APP_VERSION, DEFAULT_PORT, MANIFEST, OPERATIONS, TOKEN, AppFolder, read_app
from .model.operations import operation_to_wire
from .page.files import PageFiles, default_page
from .server.asgi import Application, Asgi
from .server.caller import Caller, Grant
from .server.clock import Clock, system_clock
from .server.database import Database
from .server.gate import DEFAULT_HINT, Gate, Principal
from .server.ledger import AuditEntry
from .server.operation_routes import Refusal, current_caller
from .server.rates import RateLimits
from .server.running import run
from .server.served import Served, Triggered
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


class App:
    """An app: what it declares, and the server of it.

    Attributes:
        folder: Where it stands.
        grants: Who may do what; the holder of the folder's `.agent-token` everything.
        declared: What was declared so far.
    """

    def __init__(
        self,
        name: str = "",
        *,
        folder: Path | str | None = None,
        app_id: str = "",
        page: Path | str | None = None,
        site: Asgi | None = None,
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
            site: An ASGI app for every path that is not the protocol's, instead of a page: for routes of one's own. It is
                reached by the app's own names alone; everything else is its affair.
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
        self._site = site
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
        self.declared = Declarations(lambda: self.served)
        self._served: Served | None = None

    def module(self, name: str, summary: str = "") -> Module:
        """Declares a module."""
        decl = ModuleDecl(name=name, summary=summary)
        self.declared.modules.append(decl)
        return Module(self.declared, decl)

    def event(self, event_type: str, description: str = "") -> None:
        """Declares a kind of event, such as `card.due_soon`."""
        self.declared.events.append(EventDecl(type=event_type, description=description))

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
            modules=tuple(self.declared.modules),
            entities=tuple(self.declared.entities),
            operations=tuple(self.declared.operations),
            events=tuple(self.declared.events),
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
        if problems := [*self.declared.problems, *model_problems(model)]:
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
            handlers=self.declared.handlers,
            fillings=self.declared.fillings,
            limits=self._limits,
            lease_s=self._lease_s,
        )
        if database.is_new:
            with database.writing():
                for entity, records in self.declared.seeds:
                    for record in records:
                        values = {key: value for key, value in record.items() if key != "id"}
                        entity.create(values, record_id=record.get("id"))
                database.mark_filled()
        return self._served

    def close(self) -> None:
        """Closes the database; calling it twice is safe."""
        if self._served is not None:
            self._served.close()
            self._served = None

    def asgi(self) -> Asgi:
        """The app as ASGI, its page included, for any server."""
        page = PageFiles(self.folder / self._page) if self._page is not None else default_page()
        return Application(self.served, self._site or page)

    def serve(self, *, port: int | None = None) -> None:
        """Serves the app on 127.0.0.1 until SIGINT or SIGTERM.

        A token is minted where the folder has none, and `operations.json` is written where it differs from what is
        declared.

        Args:
            port: Which; else `$PORT`, else the manifest's.

        Raises:
            UsageError: `$PORT` is no port.
            ModelProblems: The declarations cannot be served; all problems are named.
            StoreError: The database cannot be used.
        """
        if self._disk is None or self._disk.token is None:
            self._mint_token()
        self.write_operations()
        chosen = port or _port_of_surroundings()
        chosen = chosen or (self._disk.manifest.port if self._disk is not None else DEFAULT_PORT)
        asgi = self.asgi()
        print(f"{self.model.name} is at http://127.0.0.1:{chosen}", file=sys.stderr, flush=True)
        try:
            run(asgi, port=chosen)
        finally:
            self.close()

    def write_operations(self) -> None:
        """Writes what is declared to `operations.json`, if that says something else."""
        listed = [operation_to_wire(operation, with_rules=True) for operation in self.declared.operations]
        wanted = msgspec.json.format(msgspec.json.encode({"operations": listed}), indent=2) + b"\n"
        path = self.folder / OPERATIONS
        if not path.exists() or path.read_bytes() != wanted:
            write_atomically(path, wanted, mode=0o644)

    def audit(self, limit: int = 5000) -> list[AuditEntry]:
        """The newest writes that were made or refused, the oldest of them first."""
        return self.served.audit.entries(limit)

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


def _port_of_surroundings() -> int:
    """`$PORT`, or 0 where nothing is said."""
    given = os.environ.get("PORT", "").strip()
    if given and not (given.isascii() and given.isdigit() and 0 < int(given) < 65536):
        raise UsageError(
            f"PORT is {given[:20]!r}, which is no port.", hint="Give a number from 1 to 65535, or unset it."
        )
    return int(given or 0)


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
