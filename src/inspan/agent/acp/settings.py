"""A session's settings as a client sees and changes them: its permission mode, its model, its effort."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspan.agent.acp.peer import INVALID_PARAMS, Params, RpcError
from inspan.agent.agent import Agent
from inspan.agent.models.well_known import WELL_KNOWN, key_of
from inspan.agent.permissions.values import PermissionMode
from inspan.agent.session import EFFORTS, Session

__all__ = ["config_options", "modes_of", "read_option"]

_MODES = {
    PermissionMode.DEFAULT: ("Default", "Asks before anything that changes something."),
    PermissionMode.PLAN: ("Plan", "Looks and plans; changes nothing."),
    PermissionMode.ACCEPT_EDITS: (
        "Accept edits",
        "Changes files of the workspace unasked; asks for the rest.",
    ),
    PermissionMode.BYPASS: ("Bypass", "Asks nothing that no rule denies."),
}

_OPTIONS = {"mode": "permission_mode", "model": "model", "effort": "effort"}
_OWN_EFFORT = "default"


def modes_of(session: Session) -> Params:
    """The modes, and the one that is on."""
    return {
        "currentModeId": session.settings.permission_mode.value,
        "availableModes": [
            {"id": mode.value, "name": name, "description": said} for mode, (name, said) in _MODES.items()
        ],
    }


def config_options(agent: Agent, session: Session, environment: Mapping[str, str]) -> list[Params]:
    """Every option with its value and what else it could be.

    The models are those that are registered, and the usual one of each well-known provider whose key is set; any other
    `provider:model` is taken too.
    """
    settings = session.settings
    return [
        {
            "type": "select",
            "id": "mode",
            "name": "Permission mode",
            "category": "mode",
            "currentValue": settings.permission_mode.value,
            "options": [
                {"value": mode.value, "name": name, "description": said}
                for mode, (name, said) in _MODES.items()
            ],
        },
        {
            "type": "select",
            "id": "model",
            "name": "Model",
            "category": "model",
            "currentValue": settings.model,
            "options": _models(agent, settings.model, environment),
        },
        {
            "type": "select",
            "id": "effort",
            "name": "Effort",
            "category": "thought_level",
            "currentValue": settings.effort or _OWN_EFFORT,
            "options": [
                {"value": one or _OWN_EFFORT, "name": (one or "the model's own").capitalize()}
                for one in EFFORTS
            ],
        },
    ]


def read_option(params: Params) -> dict[str, Any]:
    """What `Session.configure` is to be called with.

    Raises:
        RpcError: There is no such option, or the value is none.
    """
    option, value = params.get("configId"), params.get("value")
    name = _OPTIONS.get(option) if isinstance(option, str) else None
    if name is None or not isinstance(value, str):
        raise RpcError(INVALID_PARAMS, "There is no such option, or its value is no text.")
    if name == "permission_mode":
        try:
            return {name: PermissionMode(value)}
        except ValueError:
            raise RpcError(INVALID_PARAMS, "There is no such mode.") from None
    return {name: "" if name == "effort" and value == _OWN_EFFORT else value}


def _models(agent: Agent, current: str, environment: Mapping[str, str]) -> list[Params]:
    found = {model.name: model.described().title or model.name for model in agent.models}
    for provider in WELL_KNOWN:
        if provider.default_model and key_of(provider, environment):
            found.setdefault(
                f"{provider.id}:{provider.default_model}", f"{provider.title}: {provider.default_model}"
            )
    found.setdefault(current, current)
    return [{"value": name, "name": title} for name, title in found.items()]
