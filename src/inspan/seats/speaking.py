"""Speaking: what a machine is told to say to its harness."""

from __future__ import annotations

from inspan.model.state import InFlight, QueuedPrompt
from inspan.transports.machine import Step
from inspan.transports.operations import OperatingMachine, Operation

from .console_turns import what_is_ignored
from .link import Link

__all__ = ["operate", "send_prompt"]


def send_prompt(link: Link, flight: InFlight, *, has_session: bool) -> Step:
    """Has a prompt sent, or typed where the harness is seen through a console, or put into its inbox."""
    machine = link.watching
    if machine is None:
        return link.machine.prompt(flight.delivery, flight.text)
    prompt = QueuedPrompt(
        delivery=flight.delivery,
        text=flight.text,
        queued_at=flight.queued_at,
        is_urgent=flight.is_urgent,
        override=flight.override,
    )
    text = flight.text.replace("\r\n", "\n")
    is_posted = machine.inbox is not None and has_session and not flight.override
    return machine.type_prompt(flight.delivery, text, ignores=what_is_ignored(prompt), is_posted=is_posted)


def operate(link: Link, wanted: tuple[Operation, ...]) -> Step | None:
    """Has operations begun; `None` where there are none, or the machine has none."""
    machine = link.machine
    if not wanted or not isinstance(machine, OperatingMachine):
        return None
    steps = [machine.operate(one) for one in wanted]
    outgoing = tuple(one for step in steps for one in step.outgoing)
    return Step(outgoing=outgoing, changed=any(step.changed for step in steps))
