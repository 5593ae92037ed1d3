"""What a call is to whoever watches: its title, its kind and the files that it touches, by the tool that it names.

A call is announced in the same words when it is made and when its conversation is read again.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import cast

from inspan.agent.events import ToolCalled
from inspan.agent.faults import fault_name, is_fault
from inspan.agent.registries import OwnedTool
from inspan.agent.text import clean_text
from inspan.agent.values import Location, ToolCall

__all__ = ["announce"]

_LOG = logging.getLogger(__name__)
_LONGEST_TITLE = 200


def announce(call: ToolCall, owned: OwnedTool | None, workspace: Path, *, subagent: str = "") -> ToolCalled:
    """Announces a call. The arguments are not checked yet, so a tool's own words on them may fail: then it has none.

    Args:
        call: The call.
        owned: The tool that it names; None for one that does not exist.
        workspace: The folder that the session works in.
        subagent: The child agent that calls, empty for the session itself.
    """
    title, kind, locations = call.tool, "other", ()
    if owned is not None:
        kind = owned.tool.kind if isinstance(cast(object, owned.tool.kind), str) else kind
        try:
            if owned.tool.title is not None:
                title = clean_text(owned.tool.title(call.arguments)) or call.tool
            if owned.tool.locations is not None:
                locations = tuple(map(_place, owned.tool.locations(call.arguments, workspace)))
        except BaseException as error:
            if not is_fault(error):
                raise
            _LOG.debug("A tool could not say what a call is about: %s.", fault_name(error))
    return ToolCalled(
        call_id=call.id,
        tool=call.tool,
        title=title[:_LONGEST_TITLE],
        kind=kind,
        arguments=call.arguments,
        locations=locations,
        subagent=subagent,
    )


def _place(location: Location) -> Location:
    """The place, if it is one: a plugin may give anything."""
    if not isinstance(cast(object, location), Location):
        raise TypeError("no location")
    line = cast(object, location.line)
    return Location(path=clean_text(location.path), line=line if isinstance(line, int) else None)
