"""Inboxes at work: a prompt that the harness's own program hands over, instead of keys that are typed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Mapping
from typing import Literal

import msgspec
import psutil

from inspan.model.inbox import Inbox
from inspan.model.plan import LaunchPlan
from inspan.model.state import SeatState

__all__ = ["INBOX_VARIABLE", "Posted", "keep_inbox", "post_prompt"]

INBOX_VARIABLE = "INSPAN_INBOX"
"""The variable of the daemon's environment that has inboxes used where manifests name them."""

Posted = Literal["taken", "refused", "unknown"]
"""What became of a prompt. `refused`: it was certainly not taken."""

_log = logging.getLogger("inspan.seats")


def keep_inbox(plan: LaunchPlan, environ: Mapping[str, str]) -> LaunchPlan:
    """The plan, without the inbox where nobody asked that inboxes are used."""
    if plan.settings.terminal.inbox is None or environ.get(INBOX_VARIABLE) == "1":
        return plan
    terminal = msgspec.structs.replace(plan.settings.terminal, inbox=None)
    return msgspec.structs.replace(plan, settings=msgspec.structs.replace(plan.settings, terminal=terminal))


async def post_prompt(inbox: Inbox, state: SeatState | None, text: str) -> Posted:
    """Has the harness's program hand a prompt to the session that is open, in the surroundings of the one that runs.

    Nothing that it says is kept. A cancellation ends it, and leaves it open whether the prompt was taken.
    """
    live = None if state is None else state.live_launch
    if state is None or live is None or live.pid is None or state.session is None:
        return "refused"
    session = state.session.id
    arguments = [one.replace("{session}", session).replace("{prompt}", text) for one in inbox.args]
    try:
        process = await asyncio.create_subprocess_exec(
            live.program,
            *arguments,
            env=psutil.Process(live.pid).environ(),
            cwd=state.workspace,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError, psutil.Error) as error:
        _log.warning("the inbox of launch %s cannot be used: %s", live.id, type(error).__name__)
        return "refused"
    try:
        async with asyncio.timeout(inbox.timeout_s):
            status = await process.wait()
    except TimeoutError:
        return "unknown"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.shield(process.wait())
    return "taken" if status == 0 else "refused"
