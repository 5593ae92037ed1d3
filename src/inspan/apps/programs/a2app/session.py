"""A call's connection to one app: who answers is known before any credential is shown."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, cast

from inspan.apps.client import DEFAULT_AGENT, AppClient, JsonObject, Reply
from inspan.apps.credentials import Credential, credential_for, pin_identity
from inspan.apps.faults import AppUnreachable, Rejected
from inspan.apps.files import read_json
from inspan.apps.folder import Folder
from inspan.apps.ports import base_url_of
from inspan.apps.programs.screen import printable, warn
from inspan.apps.programs.targets import Target
from inspan.apps.programs.words import command_line
from inspan.apps.registry import Registry

from .levels import LevelCache

__all__ = ["AGENT_VARIABLE", "Session", "open_session"]

AGENT_VARIABLE = "A2APP_AGENT"
"""The environment variable in which an agent may give itself a name."""

_TIMEOUT_S = 30.0
_IDENTITY_TIMEOUT_S = 10.0


class Session(NamedTuple):
    """An app that answered as the one that was meant.

    Attributes:
        target: The app that was named.
        client: Speaks to it with the credential that belongs to it.
        identity: What it said of itself.
        levels: The levels of its model that were seen before.
    """

    target: Target
    client: AppClient
    identity: JsonObject
    levels: LevelCache

    @property
    def app_id(self) -> str:
        """The app's id."""
        return _id_in(self.identity)

    def describe(self, *steps: str, show_all: bool = False) -> Reply:
        """One level of the model; the upper three come from the cache where its schema is still the same."""
        is_kept = len(steps) <= 2 and not show_all
        if is_kept and (found := self.levels.get(steps)) is not None:
            return Reply(200, found)
        reply = self.client.describe(steps, show_all)
        if is_kept and reply.is_ok and reply.body.get("level"):
            self.levels.put(steps, reply.body)
        return reply

    def command(self, *words: str) -> str:
        """A line that operates this app, to be copied."""
        return command_line("a2app", self.target.ref, *words)


def open_session(target: Target) -> Session:
    """Asks who answers, and only then takes the credential out.

    Raises:
        AppUnreachable: Nothing answers, or not the app that was meant.
        Misused: An app elsewhere is another one than it was.
        Rejected: A credential cannot be read.
    """
    agent = os.environ.get(AGENT_VARIABLE, "").strip() or DEFAULT_AGENT
    if target.folder is not None:
        return _open_here(target, target.folder, agent)
    return _open_elsewhere(target, str(target.origin), agent)


def _open_here(target: Target, folder: Folder, agent: str) -> Session:
    port = folder.port_in_use()
    url = base_url_of(port)
    start = command_line("agent-app", target.ref, "serve")
    try:
        identity = _ask(url, agent)
    except AppUnreachable as fault:
        if isinstance(fault.__cause__, ConnectionRefusedError):
            raise AppUnreachable(
                f"{printable(folder.name, longest=100)} is not running: nothing listens on port {port}.",
                hint=start,
                fields=fault.fields,
            ) from fault
        raise
    if identity is None or _id_in(identity) != folder.id:
        who = (
            "something that is no app"
            if identity is None
            else f"another app ({printable(_id_in(identity), longest=80)})"
        )
        raise AppUnreachable(
            f"{printable(folder.name, longest=100)} is not running: port {port} is held by {who}.",
            hint="See who holds which port with: agent-app list",
            fields={"url": url},
        )
    if (
        not folder.is_served_here()
        and (twin := Registry(target.home, warn=warn).twin_on(folder, port)) is not None
    ):
        raise AppUnreachable(
            f"{printable(folder.name, longest=100)} is not running: port {port} is held by the app in"
            f" {printable(twin.path)}, which has the same id.",
            hint=f"Give one of the two an id and a `port` of its own in its manifest.json, then {start}",
            fields={"url": url},
        )
    authorization = _sign_in(folder, url, agent) if folder.is_multi_user else None
    client = AppClient(
        url, token=folder.token(), authorization=authorization, agent=agent, timeout_s=_TIMEOUT_S
    )
    credential = Credential(folder.token(), authorization)
    return Session(target, client, identity, LevelCache(folder.state / "describe.json", identity, credential))


def _open_elsewhere(target: Target, origin: str, agent: str) -> Session:
    identity = _ask(origin, agent)
    if identity is None or not _id_in(identity):
        raise AppUnreachable(f"{origin} answers, and is no app.", fields={"url": origin})
    app_id = _id_in(identity)
    if len(app_id) > 200 or not app_id.isprintable():
        raise AppUnreachable(f"{origin} gives an id that cannot be one.", fields={"url": origin})
    pin_identity(target.home, origin, app_id)
    credential = credential_for(target.home, origin, app_id, environment=os.environ, warn=warn)
    if (
        (credential.token or credential.authorization)
        and origin.startswith("http://")
        and not _is_loopback(origin)
    ):
        warn(f"the credential goes to {origin} unencrypted; use https where the app offers it")
    client = AppClient(
        origin,
        token=credential.token,
        authorization=credential.authorization,
        agent=agent,
        timeout_s=_TIMEOUT_S,
    )
    from inspan.apps.credentials import slug_of

    cache = target.home / "remote" / slug_of(origin) / "describe.json"
    return Session(target, client, identity, LevelCache(cache, identity, credential))


def _ask(url: str, agent: str) -> JsonObject | None:
    with AppClient(url, agent=agent, timeout_s=_IDENTITY_TIMEOUT_S) as client:
        return client.identity()


def _sign_in(folder: Folder, url: str, agent: str) -> str | None:
    """The user's own token, if the app's folder says how to get one."""
    path = folder.path / ".principal"
    try:
        value = read_json(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Rejected(f"The app's .principal cannot be read ({type(error).__name__}).") from None
    said = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    where, user, password = (said.get(key) for key in ("authUrl", "identity", "password"))
    if not (
        isinstance(where, str) and isinstance(user, str) and isinstance(password, str)
    ) or not where.startswith("/"):
        raise Rejected("The app's .principal needs authUrl (a path), identity and password.")
    with AppClient(url, agent=agent, timeout_s=_TIMEOUT_S) as client:
        reply = client.request("POST", where, {"identity": user, "password": password})
    token: object = reply.body.get("token")
    if not reply.is_ok or not isinstance(token, str) or not token:
        raise Rejected(
            f"The app did not sign its user in (status {reply.status}).", hint="See .principal in its folder."
        )
    return token


def _id_in(identity: JsonObject) -> str:
    app: object = identity.get("app")
    found: object = cast("dict[str, Any]", app).get("id") if isinstance(app, dict) else None
    return found if isinstance(found, str) else ""


def _is_loopback(origin: str) -> bool:
    host = origin.partition("://")[2].rpartition(":")[0] or origin.partition("://")[2]
    return host in ("localhost", "[::1]") or host.startswith("127.")
