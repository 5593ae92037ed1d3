"""`/api/_a2app/tasks…`: the queue over HTTP. What moves a task on is its claimer's alone."""

from __future__ import annotations

from typing import Any

from .caller import Caller
from .calls import Call, Refused, Reply, parse_object, refuse
from .served import Served
from .tasks import STATUSES, TERMINAL, Task

__all__ = ["answer_tasks"]

_POLL_AFTER_MS = 2000
_LONGEST_STEP = 500
_LONGEST_REASON = 200


async def answer_tasks(served: Served, call: Call, rest: tuple[str, ...]) -> Reply:
    """Answers a call about all tasks, or about one of them."""
    is_read = call.method in ("GET", "HEAD")
    task_id, action = rest[0] if rest else "", rest[1] if len(rest) > 1 else ""
    try:
        served.meter(call, "polls" if is_read else "data")
        caller = served.gate.authorise(call, scope=None, is_write=not is_read)
        if call.method not in ("GET", "HEAD", "POST"):
            raise refuse(405, "usage", f"{call.method} does not go with tasks.")
        if len(rest) > 2:
            raise refuse(404, "usage", "A task's path is tasks/ID/VERB at most.")
        await served.tasks.sweep()
        if is_read:
            return _read(served, call, task_id, action)
        if not action:
            raise refuse(405, "usage", "Tasks are made by the app alone: POST goes to tasks/ID/VERB.")
        return await _act(served, call, task_id, action, caller)
    except Refused as refused:
        if not is_read:
            refused.concerning(f"task:{action[:20]}", task_id[:40] or None)
        raise


def _read(served: Served, call: Call, task_id: str, action: str) -> Reply:
    if not task_id:
        status = call.query.get("status")
        if status is not None and status not in STATUSES:
            raise refuse(400, "usage", f"A status is one of {', '.join(STATUSES)}.")
        tasks = [task.to_wire(served.model.id) for task in served.tasks.list(status)]
        return Reply(status=200, body={"a2app": True, "tasks": tasks, "pollAfterMs": _POLL_AFTER_MS})
    if action:
        raise refuse(405, "usage", "What is done to a task is done with POST.")
    return Reply(status=200, body=_existing(served, task_id).to_wire(served.model.id))


async def _act(served: Served, call: Call, task_id: str, action: str, caller: Caller) -> Reply:
    body = parse_object(call)
    async with served.database.writing_async():
        task = _existing(served, task_id)
        match action:
            case "claim":
                changed = _claim(served, task, body, caller)
            case "progress":
                changed = _progress(served, task, body, caller)
            case "complete":
                changed = _complete(served, task, body, caller)
            case "cancel":
                if task.status in TERMINAL:
                    raise _not_now(task, f"is {task.status} already")
                changed = served.tasks.cancel(task)
            case _:
                raise refuse(404, "usage", f'A task knows no "{action[:40]}".')
        served.audit.add(caller, f"task:{action}", task_id)
    return Reply(status=200, body=changed.to_wire(served.model.id))


def _claim(served: Served, task: Task, body: dict[str, Any], caller: Caller) -> Task:
    name = body.get("agent")
    if name and name not in (caller.credential_id, caller.agent_name):
        raise refuse(
            403,
            "principal_mismatch",
            "A task is claimed by the caller itself, under its own name.",
            requested=str(name)[:64],
            actual=caller.credential_id,
        )
    if task.status != "submitted":
        raise _not_now(task, f"is {task.status}")
    return served.tasks.claim(task, caller)


def _progress(served: Served, task: Task, body: dict[str, Any], caller: Caller) -> Task:
    _check_claim(task, body, caller)
    step, percent = body.get("step"), body.get("percent")
    if step is not None and (not isinstance(step, str) or len(step) > _LONGEST_STEP):
        raise refuse(400, "usage", f"step is text of at most {_LONGEST_STEP} characters.")
    if percent is not None and not _is_percent(percent):
        raise refuse(400, "usage", "percent is a number from 0 to 100.")
    return served.tasks.progress(task, step=step, percent=percent, ask=body.get("ask"))


def _complete(served: Served, task: Task, body: dict[str, Any], caller: Caller) -> Task:
    _check_claim(task, body, caller)
    match body.get("status"):
        case "completed":
            return served.tasks.complete(task, body.get("result", {}))
        case "failed":
            reason = body.get("reason")
            return served.tasks.fail(
                task, reason[:_LONGEST_REASON] if isinstance(reason, str) and reason else "unspecified"
            )
        case _:
            raise refuse(400, "usage", 'complete needs the status "completed" or "failed".')


def _check_claim(task: Task, body: dict[str, Any], caller: Caller) -> None:
    """Lets only who holds the claim pass.

    All agents of an app may share a credential, so that it cannot tell one from another: `claimedAt`, where it is
    sent, names the claim itself.
    """
    if task.status == "canceled":
        raise refuse(409, "task_canceled", f"The task {task.id} was canceled: stop working at it.")
    if task.status not in ("working", "input-required"):
        raise _not_now(task, f"is {task.status}")
    if task.claimed_by != caller.credential_id:
        raise refuse(
            403,
            "principal_mismatch",
            "The task was claimed by another credential.",
            requested=task.claimed_by,
            actual=caller.credential_id,
        )
    sent = body.get("claimedAt")
    if sent is not None and sent != task.claimed_at:
        raise _not_now(task, "was taken back and claimed anew since")


def _existing(served: Served, task_id: str) -> Task:
    task = served.tasks.get(task_id)
    if task is None:
        raise refuse(404, "task_not_found", f'There is no task "{task_id[:64]}".')
    return task


def _not_now(task: Task, why: str) -> Refused:
    return refuse(409, "task_not_claimable", f"The task {task.id} {why}.", taskStatus=task.status)


def _is_percent(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100
