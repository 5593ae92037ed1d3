"""The queue of one app, as the bridge uses it: what waits, a claim, words for its lease, and one outcome."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from inspan.apps.client import AppClient, AppUnreachable, JsonObject, Reply

from .line import AppLine, LineTrouble
from .tasks import Task, read_task, read_tasks

__all__ = ["Claim", "Queue", "QueueTrouble"]


class QueueTrouble(Exception):
    """The app did not answer, or refused; one line, without a secret."""


class Claim(NamedTuple):
    """A task that is ours, and the moment by which this claim is told from every other one of it."""

    task: Task
    claimed_at: str

    def is_still_ours(self, task: Task | None) -> bool:
        """Whether `task`, as the app tells it now, is under this very claim, and not over."""
        return (
            task is not None
            and task.claimed_at == self.claimed_at
            and not task.is_over
            and (task.status != "submitted")
        )


class Queue:
    """The tasks of the app at the other end of a line.

    Before each call the line is looked at anew: an app may die, and another program take its port, in the middle of a
    delivery too. A stranger is shown no credential, and what it answers says nothing of a claim.
    """

    def __init__(self, line: AppLine) -> None:
        self._line = line

    def waiting(self) -> list[Task]:
        """The tasks that nobody has, the oldest first.

        Raises:
            QueueTrouble: The app did not say.
        """
        try:
            reply = self._app().tasks("submitted")
            if reply.status == 401:
                reply = self._app(signs_in=True).tasks("submitted")
        except AppUnreachable as error:
            raise QueueTrouble(error.message) from error
        if not reply.is_ok:
            raise QueueTrouble(f"The app refused its list of tasks: {_words(reply)}.")
        return [one for one in read_tasks(reply.body) if one.status == "submitted"]

    def claim(self, task: Task) -> Claim | None:
        """Takes a task; `None` where somebody else was quicker, or it is over.

        Raises:
            QueueTrouble: The app did not answer, or refused for another reason.
        """
        try:
            reply = self._app().claim(task.id)
        except AppUnreachable as error:
            raise QueueTrouble(error.message) from error
        if reply.status == 409:
            return None
        taken = read_task(reply.body)
        if not reply.is_ok or taken is None:
            raise QueueTrouble(f"The app refused the claim of {task.id}: {_words(reply)}.")
        return Claim(taken, taken.claimed_at)

    def look(self, claim: Claim) -> Task | None:
        """The task now; `None` where the app does not have it any more.

        Raises:
            QueueTrouble: The app did not say.
        """
        try:
            reply = self._app().task(claim.task.id)
        except AppUnreachable as error:
            raise QueueTrouble(error.message) from error
        if reply.status == 404:
            return None
        found = read_task(reply.body)
        if not reply.is_ok or found is None:
            raise QueueTrouble(f"The app did not show {claim.task.id}: {_words(reply)}.")
        return found

    def keep(self, claim: Claim, *, step: str | None = None, percent: int | None = None) -> bool:
        """Says that it is being worked on; whether the claim still holds.

        Raises:
            QueueTrouble: The app did not say.
        """
        said = {"step": step, "percent": percent}
        body = {key: value for key, value in said.items() if value is not None}
        reply = self._post(claim, "progress", body)
        if reply.is_ok:
            return claim.is_still_ours(read_task(reply.body))
        if reply.status in (403, 404, 409):
            return False
        raise QueueTrouble(f"The app refused a word about {claim.task.id}: {_words(reply)}.")

    def fail(self, claim: Claim, reason: str, *, result: JsonObject) -> bool:
        """Closes the task as failed, unless it has an outcome or is somebody else's; whether this call did it.

        Raises:
            QueueTrouble: The app did not say.
        """
        reply = self._post(claim, "complete", {"status": "failed", "reason": reason, "result": result})
        if reply.is_ok:
            return True
        if reply.status in (403, 404, 409):
            return False
        raise QueueTrouble(f"The app refused the end of {claim.task.id}: {_words(reply)}.")

    def _app(self, *, signs_in: bool = False) -> AppClient:
        """The app, which answered just now."""
        try:
            self._line.renew(signs_in=signs_in)
        except LineTrouble as trouble:
            raise QueueTrouble(str(trouble)) from trouble
        return self._line.client

    def _post(self, claim: Claim, step: str, body: JsonObject) -> Reply:
        path = f"/api/_a2app/tasks/{quote(claim.task.id, safe='')}/{step}"
        try:
            # The moment of the claim makes a call of a claim that was lost fail, whoever has it now.
            named = {"claimedAt": claim.claimed_at} if claim.claimed_at else {}
            return self._app().request("POST", path, {**body, **named})
        except AppUnreachable as error:
            raise QueueTrouble(error.message) from error


def _words(reply: Reply) -> str:
    code = reply.code
    return (
        f"{reply.status} {code}" if code.isascii() and code.replace("_", "").isalnum() else str(reply.status)
    )
