"""The contract between Inspan and a harness plugin: every operation, with its values and its deadline.

A plugin implements the operations that its harness needs; each is optional. Three answers are not results,
and they are never mixed up:

- the operation is absent: `Unsupported`, with the plugin's own explanation (`unsupported_capability`);
- the operation is there but declines this request: `Refused`, with the reason (`plugin_refused`);
- the plugin itself is absent or speaks another version: the host says so (`plugin_missing`,
  `plugin_incompatible`), since there is nobody to ask.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from inspan.model.manifest import Manifest
from inspan.model.plan import LaunchPlan, LaunchRequest, ProbeResult

from .context import PluginContext
from .values import (
    ActivityAnswer,
    Classified,
    DeliveryAnswer,
    ErrorQuery,
    History,
    HistoryQuery,
    Identity,
    LaunchQuery,
    Nothing,
    PermissionAnswer,
    Preflight,
    ProcessAnswer,
    ProcessQuery,
    PromptQuery,
    Readiness,
    ReadyQuery,
    ResourceChange,
    ResourceQuery,
    Teardown,
    UsageAnswer,
)

__all__ = [
    "METHODS",
    "PROTOCOL_VERSION",
    "HarnessPlugin",
    "MethodSpec",
    "Refused",
    "Unsupported",
]

PROTOCOL_VERSION = 1
"""The version of this contract and of its wire; both sides refuse another one."""


class Unsupported(Exception):
    """Raised by a plugin where it does not have the operation; the text explains why, in the harness's terms."""


class Refused(Exception):
    """Raised by a plugin where it declines this very request; the text is the reason.

    Attributes:
        detail: Further JSON values for the caller; never secrets.
    """

    def __init__(self, reason: str, *, detail: dict[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.detail: dict[str, Any] = dict(detail or {})


class MethodSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One operation.

    Attributes:
        params: What it takes.
        result: What it gives.
        deadline_s: Seconds until the host gives up.
        is_repeatable: Whether asking twice does no more than asking once.
    """

    params: type[msgspec.Struct]
    result: type[msgspec.Struct]
    deadline_s: float = 10.0
    is_repeatable: bool = True


METHODS: dict[str, MethodSpec] = {
    "get_manifest": MethodSpec(params=Nothing, result=Manifest),
    "probe": MethodSpec(params=Nothing, result=ProbeResult, deadline_s=60.0),
    "preflight": MethodSpec(params=LaunchRequest, result=Preflight, deadline_s=30.0),
    "launch": MethodSpec(params=LaunchRequest, result=LaunchPlan, deadline_s=30.0),
    "resume": MethodSpec(params=LaunchRequest, result=LaunchPlan, deadline_s=30.0),
    "fork": MethodSpec(params=LaunchRequest, result=LaunchPlan, deadline_s=30.0),
    "check_ready": MethodSpec(params=ReadyQuery, result=Readiness),
    "inspect_process": MethodSpec(params=ProcessQuery, result=ProcessAnswer),
    "capture_identity": MethodSpec(params=LaunchQuery, result=Identity),
    "get_activity": MethodSpec(params=LaunchQuery, result=ActivityAnswer),
    "get_context_usage": MethodSpec(params=LaunchQuery, result=UsageAnswer),
    "deliver": MethodSpec(params=PromptQuery, result=DeliveryAnswer, deadline_s=30.0, is_repeatable=False),
    "cancel": MethodSpec(params=LaunchQuery, result=Nothing),
    "answer_permission": MethodSpec(params=PermissionAnswer, result=Nothing, is_repeatable=False),
    "project_resources": MethodSpec(params=ResourceQuery, result=ResourceChange, deadline_s=30.0),
    "remove_resources": MethodSpec(params=ResourceQuery, result=ResourceChange, deadline_s=30.0),
    "history": MethodSpec(params=HistoryQuery, result=History, deadline_s=30.0),
    "classify_error": MethodSpec(params=ErrorQuery, result=Classified, deadline_s=5.0),
    "teardown": MethodSpec(params=Teardown, result=Nothing, deadline_s=30.0),
}
"""Every operation by name, but for the handshake, `initialize`."""


class HarnessPlugin:
    """What a harness author subclasses; every method is optional.

    A plugin is made once, with its context, and asked by one host. Methods may run at the same time; each
    may be cancelled at any `await` and must leave nothing half done then.

    Attributes:
        name: The plugin's name; the harness's id where it is empty.
        version: The plugin's own version.
        why_unsupported: Method name to the reason why this harness does not have it, for people.
        context: What the plugin was given.
    """

    name: ClassVar[str] = ""
    version: ClassVar[str] = ""
    why_unsupported: ClassVar[dict[str, str]] = {}

    def __init__(self, context: PluginContext) -> None:
        self.context = context

    async def initialize(self) -> None:
        """Called once, before anything else; raise here where the plugin cannot work."""

    async def get_manifest(self, params: Nothing) -> Manifest:
        """The manifest; by default the merged one that the plugin was given."""
        del params
        return self.context.manifest

    async def probe(self, params: Nothing) -> ProbeResult:
        """Asks the installed program what it is; no model call."""
        raise self._unsupported("probe", params)

    async def preflight(self, params: LaunchRequest) -> Preflight:
        """Looks for what would keep a launch from working; starts nothing."""
        raise self._unsupported("preflight", params)

    async def launch(self, params: LaunchRequest) -> LaunchPlan:
        """The plan of a fresh launch; core carries it out."""
        raise self._unsupported("launch", params)

    async def resume(self, params: LaunchRequest) -> LaunchPlan:
        """The plan of a launch that re-attaches to `params.reference`."""
        raise self._unsupported("resume", params)

    async def fork(self, params: LaunchRequest) -> LaunchPlan:
        """The plan of a launch that branches from `params.reference`."""
        raise self._unsupported("fork", params)

    async def check_ready(self, params: ReadyQuery) -> Readiness:
        """Whether the launch can take a prompt."""
        raise self._unsupported("check_ready", params)

    async def inspect_process(self, params: ProcessQuery) -> ProcessAnswer:
        """Whether a process looks like this harness."""
        raise self._unsupported("inspect_process", params)

    async def capture_identity(self, params: LaunchQuery) -> Identity:
        """Finds the session id of a launch whose transport does not report it."""
        raise self._unsupported("capture_identity", params)

    async def get_activity(self, params: LaunchQuery) -> ActivityAnswer:
        """What the session does, where the transport does not report it."""
        raise self._unsupported("get_activity", params)

    async def get_context_usage(self, params: LaunchQuery) -> UsageAnswer:
        """How full the context is, where the transport does not report it."""
        raise self._unsupported("get_context_usage", params)

    async def deliver(self, params: PromptQuery) -> DeliveryAnswer:
        """Delivers a prompt, where the plugin owns its harness's input."""
        raise self._unsupported("deliver", params)

    async def cancel(self, params: LaunchQuery) -> Nothing:
        """Asks the harness to stop the turn that runs, where the plugin owns its harness's input."""
        raise self._unsupported("cancel", params)

    async def answer_permission(self, params: PermissionAnswer) -> Nothing:
        """Answers a permission request, where the plugin owns its harness's input."""
        raise self._unsupported("answer_permission", params)

    async def project_resources(self, params: ResourceQuery) -> ResourceChange:
        """Puts guidance or skills where the harness reads them."""
        raise self._unsupported("project_resources", params)

    async def remove_resources(self, params: ResourceQuery) -> ResourceChange:
        """Takes away what `project_resources` wrote."""
        raise self._unsupported("remove_resources", params)

    async def history(self, params: HistoryQuery) -> History:
        """A piece of a session's history."""
        raise self._unsupported("history", params)

    async def classify_error(self, params: ErrorQuery) -> Classified:
        """What an error of the harness means, and how to mend it."""
        raise self._unsupported("classify_error", params)

    async def teardown(self, params: Teardown) -> Nothing:
        """Cleans up after a seat."""
        raise self._unsupported("teardown", params)

    def methods(self) -> tuple[str, ...]:
        """Names of the operations that this plugin has."""
        return tuple(
            name
            for name in METHODS
            if name == "get_manifest" or getattr(type(self), name) is not getattr(HarnessPlugin, name)
        )

    def _unsupported(self, method: str, params: msgspec.Struct) -> Unsupported:
        del params
        return Unsupported(self.why_unsupported.get(method, ""))
