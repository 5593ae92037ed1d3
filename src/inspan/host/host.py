"""The host: finds, checks, loads and asks harness plugins. It is the only way to a harness."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Self

import msgspec

from inspan.model.errors import InspanError, PluginError
from inspan.model.manifest import Manifest, ModeManifest
from inspan.model.plan import LaunchPlan, LaunchRequest, ProbeResult, Problem
from inspan.model.turn import CallError
from inspan.model.views import HarnessView
from inspan.plugin.context import make_context
from inspan.plugin.diagnosing import diagnose
from inspan.plugin.planning import find_posture
from inspan.plugin.values import Classified, ErrorQuery, Nothing, Preflight, Readiness, ReadyQuery

from .asking import AskedPlugin, ask_for
from .audit import AuditedPlugin, AuditLog
from .local_plugin import LocalPlugin
from .permissions import allowed_environment, check_permitted
from .plans import check_attempt, check_plan, check_reference, check_workspace, find_mode
from .plugin_process import ProcessPlugin, ProcessTimes, plugin_command
from .registry import HarnessRegistry, RegisteredHarness
from .trust import TrustRecord, TrustStore
from .views import PluginState, view_harness

__all__ = ["HarnessHost", "Placement"]

Placement = Literal["by_origin", "in_process", "own_process"]
"""Where plugins run. `by_origin`: code from outside the tree in a process of its own, everything else here."""

_log = logging.getLogger(__name__)


class HarnessHost:
    """All harnesses of one Inspan home, and the plugins that serve them.

    Plugins are loaded when they are first asked. A host that asked one in a process of its own must be closed,
    or used as an async context manager.

    Attributes:
        registry: The harnesses.
        trust: What the operator trusted.
        audit: What plugins were asked.
    """

    def __init__(
        self,
        home: Path,
        *,
        environ: Mapping[str, str],
        placement: Placement = "by_origin",
        times: ProcessTimes | None = None,
    ) -> None:
        self.registry = HarnessRegistry(home)
        self.trust = TrustStore(home)
        self.audit = AuditLog(home)
        self._home = home
        self._environ = dict(environ)
        self._placement: Placement = placement
        self._times = times
        self._plugins: dict[str, _Loaded] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends every plugin. Closing twice does nothing more."""
        plugins, self._plugins = self._plugins, {}
        for loaded in plugins.values():
            await loaded.plugin.close()

    def view(self, harness: str) -> HarnessView:
        """A harness as people see it; a faulty one with its problem.

        Raises:
            UsageError: `unknown_harness`.
        """
        return self._view(self.registry.get(harness))

    def views(self) -> tuple[HarnessView, ...]:
        """All harnesses as people see them."""
        return tuple(self._view(entry) for entry in self.registry.list())

    def trust_harness(self, harness: str) -> TrustRecord:
        """Pins the files of the harness's plugin as they are now, on the operator's word.

        Raises:
            UsageError: `unknown_harness`.
            ManifestError: What is wrong with its manifest.
        """
        entry = self.registry.get(harness)
        entry.require()
        return self.trust.trust(harness, entry.plugin_layer.folder)

    async def probe(self, harness: str) -> ProbeResult:
        """Asks the installed program what it is; no model call.

        Raises:
            UsageError: `unknown_harness`.
            ManifestError: What is wrong with its manifest.
            PluginError: The plugin cannot be asked.
        """
        plugin = await self._plugin_of(harness)
        return await ask_for(plugin, ProbeResult, "probe", Nothing())

    async def preflight(self, request: LaunchRequest) -> tuple[Problem, ...]:
        """What would keep a launch from working, as far as it can be seen without starting anything.

        Raises:
            UsageError: `unknown_harness`.
        """
        problems: list[Problem] = []
        try:
            self._check_request(request)
        except InspanError as error:
            return (Problem.of(error),)
        try:
            plugin = await self._plugin_of(request.harness)
            found = await ask_for(plugin, Preflight, "preflight", request)
            problems += found.problems
        except InspanError as error:
            if error.code != "unsupported_capability":
                problems.append(Problem.of(error))
        return tuple(problems)

    async def plan(self, request: LaunchRequest) -> LaunchPlan:
        """The plan of a launch; nothing is started.

        Raises:
            UsageError: `unknown_harness`, `unknown_mode`, `workspace_missing`, `workspace_not_a_folder`,
                `posture_unsupported`, `invalid_argument` (a reference of another harness, a model that cannot
                be chosen, a variable that the posture needs).
            ManifestError: What is wrong with its manifest.
            HarnessError: `not_installed`.
            PluginError: `unsupported_capability`, `plugin_refused`, `plugin_missing`, `plugin_incompatible`,
                `plugin_untrusted`, `plugin_not_permitted`, `plugin_timeout`, `plugin_failed`.
        """
        manifest, mode = self._check_request(request)
        plugin = await self._plugin_of(request.harness)
        method = "launch" if request.attempt == "fresh" else request.attempt
        plan = await ask_for(plugin, LaunchPlan, method, request)
        if is_from_outside(self.registry.get(request.harness)):
            check_permitted(manifest, mode, plan)
        return check_plan(manifest, mode, request, plan)

    async def check_ready(self, harness: str, query: ReadyQuery) -> Readiness:
        """Whether a launch can take a prompt, with what is odd in its handshake.

        Raises:
            UsageError: `unknown_harness`.
            PluginError: As in `plan`.
        """
        plugin = await self._plugin_of(harness)
        return await ask_for(plugin, Readiness, "check_ready", query)

    async def classify_error(self, harness: str, mode: str, error: CallError) -> CallError:
        """`error` with its meaning and remedy, where the harness's plugin or manifest knows them.

        A plugin that fails to classify never hides the error: the manifest's diagnoses are used instead.
        """
        try:
            plugin = await self._plugin_of(harness)
            classified = await ask_for(
                plugin, Classified, "classify_error", ErrorQuery(mode=mode, error=error)
            )
        except InspanError as failure:
            _log.info("%s did not classify an error: %s", harness, failure)
            return self._diagnose(harness, mode, error)
        return classified.error

    async def ask(
        self, harness: str, method: str, params: msgspec.Struct, *, deadline_s: float | None = None
    ) -> msgspec.Struct:
        """Any other operation of the harness's plugin; errors as in `AskedPlugin.ask`."""
        plugin = await self._plugin_of(harness)
        return await plugin.ask(method, params, deadline_s=deadline_s)

    def plugin_pid(self, harness: str) -> int | None:
        """The process id of the harness's plugin, where it runs in a process of its own right now."""
        loaded = self._plugins.get(harness)
        return (
            loaded.plugin.pid if loaded and isinstance(loaded.plugin, ProcessPlugin | AuditedPlugin) else None
        )

    def _check_request(self, request: LaunchRequest) -> tuple[Manifest, ModeManifest]:
        manifest = self.registry.manifest(request.harness)
        mode = find_mode(manifest, request.mode)
        check_attempt(mode, request.attempt)
        check_reference(manifest, request.reference)
        check_workspace(request.workspace)
        find_posture(mode, request.posture)
        return manifest, mode

    def _diagnose(self, harness: str, mode: str, error: CallError) -> CallError:
        try:
            manifest = self.registry.manifest(harness)
        except InspanError:
            return error
        found = manifest.modes.get(mode)
        return diagnose(
            error,
            found.diagnoses if found else (),
            sign_in_hint=manifest.sign_in.hint,
            auth_variables=manifest.sign_in.auth_variables,
        )

    def _view(self, entry: RegisteredHarness) -> HarnessView:
        state, problem = self._plugin_state(entry)
        return view_harness(entry, plugin=state, problem=problem, environ=self._environ)

    def _plugin_state(self, entry: RegisteredHarness) -> tuple[PluginState, InspanError | None]:
        if entry.manifest is None or not entry.manifest.plugin:
            return "none", entry.problem
        try:
            self._check_plugin(entry)
        except InspanError as error:
            states: dict[str, PluginState] = {"plugin_missing": "missing", "plugin_untrusted": "untrusted"}
            return states.get(error.code, "incompatible"), error
        return "ready", entry.problem

    def _check_plugin(self, entry: RegisteredHarness) -> TrustRecord | None:
        manifest = entry.require()
        if not manifest.plugin:
            return None
        layer = entry.plugin_layer
        file = layer.folder / manifest.plugin
        if not file.is_file():
            raise PluginError(
                f"The plugin {file} is not there.",
                code="plugin_missing",
                hint="Install it, or remove `plugin` from the manifest.",
                detail={"file": str(file)},
            )
        return None if layer.origin == "built-in" else self.trust.check(entry.id, layer.folder)

    async def _plugin_of(self, harness: str) -> AskedPlugin:
        entry = self.registry.get(harness)
        try:
            trusted = self._check_plugin(entry)
        except InspanError:
            if (stale := self._plugins.pop(harness, None)) is not None:
                await stale.plugin.close()
            raise
        known = self._plugins.get(harness)
        if known is not None and known.entry == entry and known.trusted == trusted:
            return known.plugin
        loaded = _Loaded(entry, trusted, self._make_plugin(entry))
        self._plugins[harness] = loaded
        if known is not None:
            await known.plugin.close()
        return loaded.plugin

    def _make_plugin(self, entry: RegisteredHarness) -> AskedPlugin:
        manifest = entry.require()
        layer = entry.plugin_layer
        context = make_context(
            manifest,
            folder=str(layer.folder.resolve()),
            data_folder=str(self._home / "plugin-data" / entry.id),
            environ=self._environ,
        )
        from_outside = is_from_outside(entry)
        if from_outside:
            environ = allowed_environment(manifest, self._environ)
            context = msgspec.structs.replace(context, environ=environ)
        if self._placement == "own_process" or (self._placement == "by_origin" and from_outside):
            process = ProcessPlugin(
                entry.id,
                context,
                command=plugin_command(layer.folder),
                environ=context.environ,
                times=self._times,
            )
            return AuditedPlugin(entry.id, process, self.audit) if manifest.plugin else process
        local = LocalPlugin(entry.id, context)
        return AuditedPlugin(entry.id, local, self.audit) if manifest.plugin else local


def is_from_outside(entry: RegisteredHarness) -> bool:
    """Whether a harness has code that did not come with this package."""
    return bool(entry.require().plugin) and entry.plugin_layer.origin != "built-in"


class _Loaded(NamedTuple):
    """A plugin, with what it was made from: another manifest, or files that were trusted anew, need another."""

    entry: RegisteredHarness
    trusted: TrustRecord | None
    plugin: AskedPlugin
