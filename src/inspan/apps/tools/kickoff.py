"""The prompt with which an agent is set to work on an app, for harnesses that begin such work with a turn of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = ["ACTIVITIES", "BLUEPRINT", "Kickoff", "KickoffError", "kickoff"]

BLUEPRINT = "python"
"""The blueprint of an app where nobody names one."""

Activity: TypeAlias = Literal["creator", "modify", "operator"]

ACTIVITIES: Mapping[str, Activity] = {"build": "creator", "modify": "modify", "operate": "operator"}
"""The skill that owns each action."""

_LONGEST = 20_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


class Kickoff(NamedTuple):
    """What to send to the agent.

    Attributes:
        activity: The skill that it has to load.
        prompt: The text.
        dir: The app's folder, where one was named.
    """

    activity: Activity
    prompt: str
    dir: str | None

    kind = "kickoff"


class KickoffError(NamedTuple):
    """What is missing or wrong, in words for a person."""

    message: str

    kind = "error"


def kickoff(asked: Mapping[str, Any]) -> Kickoff | KickoffError:
    """The prompt for `{action, name | dir, requirement, blueprint?, port?}`.

    `action` is `build`, `modify` or `operate`. Nothing that is asked for can end its own place in the prompt: names are one
    line, and the requirement is quoted line by line.
    """
    action = asked.get("action")
    activity = ACTIVITIES.get(action) if isinstance(action, str) else None
    if activity is None:
        return KickoffError(f"The action has to be one of: {', '.join(ACTIVITIES)}.")
    requirement = _text(asked.get("requirement"))
    if not requirement:
        return KickoffError("What is wanted is missing: say it in `requirement`.")
    if len(requirement) > _LONGEST:
        return KickoffError(f"The requirement is longer than {_LONGEST} characters.")
    name, folder = _line(asked.get("name")), _line(asked.get("dir"))
    if activity == "creator" and not (name or folder):
        return KickoffError("A new app needs a `name`, or a `dir` to be made in.")
    if activity != "creator" and not folder:
        return KickoffError("Which app is meant is missing: name its folder in `dir`.")
    quoted = "\n".join(f"> {line}" for line in requirement.splitlines())
    return Kickoff(
        activity,
        "\n".join([_task(activity, name, folder, asked), "", quoted, "", _rules(activity)]),
        folder or None,
    )


def _task(activity: Activity, name: str, folder: str, asked: Mapping[str, Any]) -> str:
    match activity:
        case "creator":
            what = f"Build a new Agent App{f' called {name!r}' if name else ''}{f' in the folder {folder!r}' if folder else ''}."
            blueprint = _line(asked.get("blueprint")) or BLUEPRINT
            port = asked.get("port")
            more = f" Use the blueprint {blueprint!r}"
            more += f" and the port {port}." if isinstance(port, int) and not isinstance(port, bool) else "."
            return f"{what}{more} This is what is wanted:"
        case "modify":
            return f"Change the Agent App in the folder {folder!r}. This is what is wanted:"
        case "operator":
            return f"Operate the Agent App in the folder {folder!r} for its person. This is what is wanted:"


def _rules(activity: Activity) -> str:
    return (
        f"Load the `{activity}` skill of the Agent App framework first (`agent-app skills --path` prints where the skills "
        "are) and follow it step by step. Do not go by general knowledge of such apps. Say at the end what was done and "
        "what was left."
    )


def _text(value: Any) -> str:
    return _CONTROL.sub(" ", value).strip() if isinstance(value, str) else ""


def _line(value: Any) -> str:
    return " ".join(_text(value).split())[:400]
