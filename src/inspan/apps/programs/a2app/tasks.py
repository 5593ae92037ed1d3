"""`a2app APP tasks …`: the work that an app has for an agent."""

from __future__ import annotations

import os

from inspan.apps.faults import Misused
from inspan.apps.programs.screen import printable
from inspan.apps.programs.words import Words

from .answers import print_reply
from .session import Session
from .values import read_json_value

__all__ = ["CLAIM_VARIABLE", "USAGE", "check_tasks", "run_tasks"]

CLAIM_VARIABLE = "A2APP_CLAIM"
"""The environment variable, `ID@CLAIMED_AT`, by which a bridge tells the agent that it runs which claim it works under."""

USAGE = """a2app APP tasks [--status STATUS]
a2app APP tasks next [--wait MS] [--capability NAME …] [--no-claim] [--as CREDENTIAL]
a2app APP tasks get ID
a2app APP tasks claim ID [--as CREDENTIAL]
a2app APP tasks progress ID [--step TEXT] [--percent N] [--ask QUESTION]
a2app APP tasks complete ID --result JSON | --reason CODE
a2app APP tasks cancel ID"""

_VERBS = {"poll": 1, "next": 1, "get": 2, "claim": 2, "progress": 2, "complete": 2, "cancel": 2}


def check_tasks(words: Words) -> None:
    """Refuses a command line that cannot be right, whatever the app says.

    Raises:
        Misused: It has another form than `USAGE`.
    """
    places = words.places
    verb = places[0] if places else "poll"
    if verb not in _VERBS:
        raise Misused(
            f"tasks has no verb {printable(verb, longest=80)!r}; there are {', '.join(_VERBS)}.", hint=USAGE
        )
    if (len(places) != _VERBS[verb] and places) or not all(places):
        raise Misused(
            f"tasks {verb} takes {'the id of a task' if _VERBS[verb] == 2 else 'no id'}.", hint=USAGE
        )


def run_tasks(session: Session, words: Words) -> int:
    """Carries out one command on tasks; gives the exit status. What the app answers is printed as it is.

    Raises:
        Misused: The command line is wrong.
        AppUnreachable: The app does not answer any more.
    """
    check_tasks(words)
    verb, *rest = words.places or ["poll"]
    task = rest[0] if rest else ""
    client = session.client
    match verb:
        case "poll":
            status = words.one("status")
            words.done(places=1, usage=USAGE)
            return print_reply(client.tasks(status))
        case "next":
            from .waiting import next_task

            wait_ms = words.whole("wait")
            capabilities = words.all("capability")
            agent = words.one("as")
            claims = not words.switch("no-claim")
            words.done(places=1, usage=USAGE)
            return next_task(
                session, wait_ms=wait_ms or 0, capabilities=capabilities, agent=agent, claims=claims
            )
        case "get":
            words.done(places=2, usage=USAGE)
            return print_reply(client.task(task))
        case "claim":
            agent = words.one("as")
            words.done(places=2, usage=USAGE)
            return print_reply(client.claim(task, agent))
        case "progress":
            step, percent, ask = words.one("step"), words.number("percent"), words.one("ask")
            words.done(places=2, usage=USAGE)
            return print_reply(
                client.progress(task, step=step, percent=percent, ask=ask, claimed_at=_claim_of(task))
            )
        case "complete":
            result, reason = words.one("result"), words.one("reason")
            words.done(places=2, usage=USAGE)
            if (result is None) == (reason is None):
                raise Misused(
                    "A task is closed with --result or with --reason, and not with both.", hint=USAGE
                )
            value = read_json_value(result, "result") if result is not None else None
            return print_reply(client.complete(task, result=value, reason=reason, claimed_at=_claim_of(task)))
        case _:
            words.done(places=2, usage=USAGE)
            return print_reply(client.cancel(task))


def _claim_of(task: str) -> str | None:
    """When the task was claimed for this very agent, if a bridge said so: what it says later is refused after a claim anew."""
    named, _, claimed_at = os.environ.get(CLAIM_VARIABLE, "").partition("@")
    return claimed_at if claimed_at and named == task else None
