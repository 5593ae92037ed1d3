"""The first steps of the chain: host, origin, credential, scope. Each can refuse, and always in this order."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable

from inspan.apps.model.app_model import AppModel

from .caller import ANONYMOUS, EVERYTHING, UI, Caller, Grant, Scopes, all_scopes, anonymous_scopes
from .calls import Call, refuse

__all__ = ["DEFAULT_HINT", "Gate", "Principal"]

DEFAULT_HINT = (
    "Read the app's .agent-token file (mode 0600) in the project directory, and send it as X-A2App-Token."
)
"""How to get a credential, where the app says nothing else."""

Principal = Callable[[str], str | None]
"""Gives the user whose `Authorization` header has this value, or `None`."""

_LOOPBACK = re.compile(r"127\.\d{1,3}\.\d{1,3}\.\d{1,3}", re.ASCII)
_LONGEST_NAME = 64


class Gate:
    """Decides who a caller is and what it may do."""

    def __init__(
        self,
        model: AppModel,
        grants: Iterable[Grant],
        *,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        hint: str = DEFAULT_HINT,
        principal_of: Principal | None = None,
    ) -> None:
        """Knows the grants of `model`.

        Args:
            model: What the app declares.
            grants: Who may do what.
            hosts: Names that the app is reached by beside the loopback's, such as `board.example` or with a port.
            origins: Origins of the app's own page beside its own address.
            hint: How to get a credential.
            principal_of: For an app of several users: whose an `Authorization` header is.
        """
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        named = (origin.partition("://")[2] for origin in self._origins)
        self._hosts = frozenset(host.lower() for host in (*hosts, *named))
        self._hint = hint
        self._principal_of = principal_of
        self._is_multi_user = model.auth_mode == "multi-user"
        self._everything = all_scopes(model)
        self._anonymous = Caller(
            credential_id=ANONYMOUS,
            agent_name=None,
            principal=None if self._is_multi_user else "owner",
            scopes=anonymous_scopes(model),
        )
        self._ui = Caller(credential_id=UI, agent_name=None, principal="owner", scopes=self._everything)
        # Looked up by a digest, so that how long it takes tells nothing of a token.
        self._callers = {
            _digest(grant.token): Caller(
                credential_id=grant.credential_id,
                agent_name=grant.agent_name,
                principal=grant.principal,
                scopes=self._everything if EVERYTHING in grant.scopes else Scopes(grant.scopes),
            )
            for grant in grants
        }

    def check_host(self, call: Call) -> None:
        """Lets only requests to the app's own names pass, so that a name that is bound to the loopback reads nothing.

        Raises:
            Refused: The `Host` header names something else.
        """
        host = call.headers.get("host")
        if host is not None and not self._is_own_host(host.strip().lower()):
            raise refuse(403, "forbidden_host", "Refused: the request names a host that is not this app's.")

    def check_origin(self, call: Call) -> None:
        """Lets programs and the app's own page pass.

        Raises:
            Refused: Another site's page sent the request.
        """
        origin = call.headers.get("origin")
        is_foreign = not self._is_own_origin(call, origin) if origin is not None else _is_from_elsewhere(call)
        if is_foreign:
            raise refuse(403, "forbidden_origin", "Refused: the request comes from another site's page.")

    def caller_of(self, call: Call) -> Caller:
        """Who calls, as far as it can be told; `anonymous` where nothing is known. Origin was checked before."""
        if "origin" in call.headers or call.headers.get("sec-fetch-site") == "same-origin":
            return self._ui_of(call)
        token = call.header("x-a2app-token", "x-lui-token")
        known = self._callers.get(_digest(token)) if token else None
        if known is None:
            return self._anonymous
        return self._named(known, call)

    def authorise(self, call: Call, *, scope: str | None, is_write: bool) -> Caller:
        """The caller, who may do this.

        Args:
            call: The request.
            scope: What it must hold; `None` where a known caller is enough.
            is_write: Whether something may change, for which a credential is always needed.

        Raises:
            Refused: It shows no credential where one is needed, or does not hold the scope.
        """
        caller = self.caller_of(call)
        if caller.credential_id == ANONYMOUS and (is_write or self._is_multi_user):
            raise self.challenge("This write needs" if is_write else "This app needs")
        if scope is not None and scope not in caller.scopes.held:
            if caller.credential_id == ANONYMOUS:
                raise self.challenge("This call needs")
            raise refuse(403, "insufficient_scope", f"The credential does not hold {scope}.", required=scope)
        return caller

    def challenge(self, what: str) -> Exception:
        """The refusal of a caller without a credential, with how to get one; to be raised."""
        return refuse(401, "agent_token_required", f"{what} an agent credential.", how=self._hint)

    @property
    def is_multi_user(self) -> bool:
        """Whether reads need a credential too."""
        return self._is_multi_user

    def _ui_of(self, call: Call) -> Caller:
        if not self._is_multi_user:
            return self._ui
        user = self._user_of(call)
        if user is None:
            return self._anonymous
        return Caller(credential_id=UI, agent_name=None, principal=user, scopes=self._everything)

    def _named(self, known: Caller, call: Call) -> Caller:
        principal = (self._user_of(call) if self._is_multi_user else None) or known.principal
        # What a caller says of itself is a name to show, and gives it no right.
        declared = call.header("x-a2app-agent")[:_LONGEST_NAME] or None
        name = known.agent_name or (declared if declared and declared.isprintable() else None)
        if name == known.agent_name and principal == known.principal:
            return known
        return Caller(
            credential_id=known.credential_id, agent_name=name, principal=principal, scopes=known.scopes
        )

    def _user_of(self, call: Call) -> str | None:
        authorization = call.header("authorization")
        return self._principal_of(authorization) if authorization and self._principal_of else None

    def _is_own_host(self, host: str) -> bool:
        if host in self._hosts:
            return True
        name = _name_of(host)
        return name is not None and (name in self._hosts or _is_loopback(name))

    def _is_own_origin(self, call: Call, origin: str) -> bool:
        origin = origin.strip().lower()
        if origin in self._origins:
            return True
        scheme, _, netloc = origin.partition("://")
        name = _name_of(netloc)
        if scheme not in ("http", "https") or name is None:
            return False
        if netloc == call.header("host").lower():
            return True
        # The same page under another of the loopback's names.
        return scheme == "http" and _is_loopback(name) and _port_of(netloc) == call.port


def _is_from_elsewhere(call: Call) -> bool:
    """Whether a browser says that another site's page sent a request to which it adds no origin."""
    return call.headers.get("sec-fetch-site") in ("cross-site", "same-site")


def _name_of(netloc: str) -> str | None:
    """The name in `name:port`; `None` where it has another form."""
    match = re.fullmatch(r"(\[[0-9a-f:.]+\]|[^\[\]:@/\\?#\s]+)(?::(\d{1,5}))?|(::1)", netloc)
    return None if match is None else match[1] or match[3]


def _port_of(netloc: str) -> int | None:
    _, _, port = netloc.rpartition(":")
    return int(port) if port.isascii() and port.isdigit() else None


def _is_loopback(name: str) -> bool:
    return name in ("localhost", "[::1]", "::1") or _LOOPBACK.fullmatch(name) is not None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
