"""`inspan agent run`: one prompt, shown as it happens, the outcome as the exit status."""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager

import msgspec

from inspan.agent.engine.contract import StopReason
from inspan.agent.permissions.values import Answer, PermissionQuestion
from inspan.agent.program_status import ProgramStatus
from inspan.agent.session import Session

from .agent_opening import open_agent, open_session
from .agent_showing import TurnShow, ask_person, usage_words
from .agent_thread import AgentThread, Asked, Interrupted, Over
from .arguments import Namespace
from .context import Context
from .exits import Exit
from .output import bad, dim
from .prompts import read_prompt

__all__ = ["EXITS", "follow_turn", "run_once"]

EXITS = {
    StopReason.END_TURN: Exit.OK,
    StopReason.MAX_STEPS: Exit.FAILED,
    StopReason.MAX_TOKENS: Exit.FAILED,
    StopReason.REFUSED: Exit.REFUSED,
    StopReason.CANCELLED: Exit.CANCELLED,
    StopReason.LIMITED: Exit.LIMITED,
    StopReason.FAILED: Exit.FAILED,
}
"""The exit status of each ending."""


def run_once(context: Context, args: Namespace) -> int:
    """Runs one turn and gives the exit status."""
    prompt = read_prompt(args.prompt)
    output = context.output
    asks = not output.is_json and sys.stdin.isatty() and sys.stderr.isatty()
    with open_agent(context, args, asks=asks) as thread:
        session = open_session(thread, args)
        show = TurnShow(output, is_quiet=output.is_json)
        follow_turn(context, thread, session, prompt, show, ProgramStatus(sys.stdout))
        ended = show.ended
        if output.is_json:
            output.value(
                {
                    "session": session.id,
                    "stop_reason": ended.stop_reason.value if ended else "failed",
                    "message": ended.message if ended else "",
                    "text": show.text,
                    "calls": show.calls,
                    "usage": msgspec.to_builtins(ended.usage) if ended else None,
                }
            )
        elif ended is not None:
            if ended.message:
                output.remark(bad(ended.message))
            output.remark(dim(f"{usage_words(ended.usage)}; session {session.id}"))
        return EXITS[ended.stop_reason] if ended else Exit.FAILED


def follow_turn(
    context: Context,
    thread: AgentThread,
    session: Session,
    prompt: str,
    show: TurnShow,
    status: ProgramStatus,
) -> None:
    """Runs a turn to its end. Ctrl-C stops it; a second one leaves.

    Raises:
        InspanError: The turn could not be begun or kept.
        KeyboardInterrupt: The second Ctrl-C.
    """
    is_stopping = False
    with _interrupts_told(thread):
        thread.begin(session, prompt)
        status.report("working")
        try:
            while True:
                happening = thread.happenings.get()
                match happening:
                    case Over(error=error):
                        show.finish()
                        if error is not None:
                            raise error
                        return
                    case Interrupted():
                        if is_stopping:
                            raise KeyboardInterrupt
                        is_stopping = True
                        show.finish()
                        context.output.remark(dim("stopping the turn; Ctrl-C again leaves"))
                        thread.cancel(session)
                    case Asked(question=question, answer=answer):
                        show.finish()
                        status.report("blocked", kind="permission")
                        answer(_asked(context, thread, question))
                        status.report("working")
                    case _ if not context.output.is_json:
                        show.show(happening)
                    case _:
                        show.take(happening)
        finally:
            is_failed = show.ended is None or show.ended.stop_reason is StopReason.FAILED
            status.report("error" if is_failed else "done")


def _asked(context: Context, thread: AgentThread, question: PermissionQuestion) -> Answer:
    """What the person answers; Ctrl-C stops the turn instead."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return ask_person(context.output, question, input)
    except KeyboardInterrupt:
        context.output.line()
        thread.happenings.put(Interrupted())
        return Answer.CANCELLED
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _interrupts_told(thread: AgentThread) -> Generator[None]:
    """Has Ctrl-C come as a happening, so that it breaks nothing off half way. Where it is ignored, it stays ignored."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        yield
        return

    def tell(_: int, __: object) -> None:
        thread.happenings.put(Interrupted())

    signal.signal(signal.SIGINT, tell)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
