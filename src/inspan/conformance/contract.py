"""The contract, held against a plugin: every operation is asked, and what comes back is looked at.

It runs the plugin's code in this process and starts no harness: a program that does nothing stands in for it. It needs
neither a daemon nor a test runner, so an author runs it from a build. `python -m inspan.conformance.contract FOLDER`
prints what it found.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from inspan.model.errors import ERROR_CODES, InspanError
from inspan.model.manifest import Manifest, ModeManifest
from inspan.model.plan import Attempt, LaunchPlan, LaunchRequest
from inspan.model.posture import Approvals, Posture, Sandbox
from inspan.model.session import Provenance, SessionReference
from inspan.model.turn import CallError
from inspan.plugin.context import PluginContext, make_context
from inspan.plugin.contract import METHODS, HarnessPlugin, Refused, Unsupported
from inspan.plugin.loading import load_factory
from inspan.plugin.manifest_file import load_manifest
from inspan.plugin.plan_checks import find_plan_fault
from inspan.plugin.programs import override_variable
from inspan.plugin.values import (
    Classified,
    ErrorQuery,
    HistoryQuery,
    LaunchQuery,
    Nothing,
    PermissionAnswer,
    ProcessQuery,
    PromptQuery,
    ReadyQuery,
    ResourceQuery,
    Teardown,
)

from .finding import Finding

__all__ = ["CONTRACT_RULES", "check_contract", "main"]

CONTRACT_RULES = {
    "contract-load": "The plugin loads, and is ready once it was initialised.",
    "contract-answer": "An operation gives its result, says that there is none, or refuses; it never just fails.",
    "contract-deadline": "An operation answers within its deadline.",
    "contract-wire": "A result is the same after a way over the wire, since a plugin may run in a process of its own.",
    "contract-manifest": "The plugin works with the manifest that it was given.",
    "contract-plan": "A plan can be carried out: its program, transport, attempt and files are what was asked for.",
    "contract-session": "A plan to resume or to fork names the session that was asked for.",
    "contract-posture": "A posture that the manifest does not declare is refused, never weakened.",
    "contract-error": "An error keeps the harness's own words, and gets a code that Inspan knows.",
    "contract-quiet": "A look at what would keep a launch from working leaves the workspace as it is.",
}
"""What is looked at, each in a sentence."""

_SESSION = "contract-session-1"
_WORDS = "The scripted words of a harness."


class _Asked(NamedTuple):
    """What came of a question: a result, or why there is none."""

    result: msgspec.Struct | None
    refusal: Exception | None = None
    fault: Finding | None = None


async def check_contract(folder: Path, *, deadline_s: float | None = None) -> tuple[Finding, ...]:
    """Everything in which the plugin of a harness's folder breaks the contract; nothing where it keeps it.

    Args:
        folder: The folder, named as the harness's id; without code the data-only plugin is looked at.
        deadline_s: Seconds for each operation; the operation's own by default.

    Raises:
        ManifestError: The manifest cannot be read.
    """
    manifest = load_manifest(folder)
    with tempfile.TemporaryDirectory(prefix="isp-") as place:
        checks = _Checks(manifest, folder, Path(place), deadline_s)
        # What a plugin prints would stand in the way of the wire; here it would of the findings.
        with contextlib.redirect_stdout(io.StringIO()):
            return tuple([finding async for finding in checks.run()])


def main(argv: list[str] | None = None) -> int:
    """Prints what is wrong with the plugin of a folder; 0 where nothing is."""
    words = sys.argv[1:] if argv is None else argv
    if len(words) != 1:
        sys.stderr.write("usage: python -m inspan.conformance.contract FOLDER\n")
        return 2
    try:
        found = asyncio.run(check_contract(Path(words[0]).resolve()))
    except InspanError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    for one in found:
        sys.stdout.write(f"{one.severity}  {one.at}: {one.message}  [{one.rule}]\n")
    return 1 if found else 0


class _Checks:
    def __init__(self, manifest: Manifest, folder: Path, place: Path, deadline_s: float | None) -> None:
        self._manifest = manifest
        self._folder = folder
        self._deadline_s = deadline_s
        self._workspace = place / "workspace"
        self._workspace.mkdir()
        self._stand_in = place / "program"
        self._stand_in.write_text("#!/bin/sh\nexit 0\n")
        self._stand_in.chmod(0o700)
        self._data = place / "data"

    async def run(self) -> AsyncIterator[Finding]:
        try:
            plugin = load_factory(self._folder, self._manifest.plugin)(self._context())
            await asyncio.wait_for(plugin.initialize(), self._deadline_s or 10.0)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything, which is the finding
            yield _finding("contract-load", "initialize", f"It cannot be loaded: {_named(error)}.")
            return
        async for finding in self._check_manifest(plugin):
            yield finding
        for name, mode in self._manifest.modes.items():
            async for finding in self._check_mode(plugin, name, mode):
                yield finding
        async for finding in self._check_errors(plugin):
            yield finding
        for method, params in self._other_questions():
            asked = await self._ask(plugin, method, params)
            if asked.fault is not None:
                yield asked.fault

    async def _check_manifest(self, plugin: HarnessPlugin) -> AsyncIterator[Finding]:
        asked = await self._ask(plugin, "get_manifest", Nothing())
        if asked.fault is not None:
            yield asked.fault
        elif asked.result != self._manifest:
            yield _finding(
                "contract-manifest", "get_manifest", "It works with another manifest than it was given."
            )

    async def _check_mode(
        self, plugin: HarnessPlugin, name: str, mode: ModeManifest
    ) -> AsyncIterator[Finding]:
        for rule in mode.postures:
            posture = Posture(approvals=rule.approvals, sandbox=rule.sandbox)
            for attempt in self._attempts(mode):
                async for finding in self._check_plan(plugin, mode, self._request(name, attempt, posture)):
                    yield finding
        for posture in _undeclared(mode):
            request = self._request(name, "fresh", posture)
            asked = await self._ask(plugin, "launch", request)
            if asked.fault is not None:
                yield asked.fault
            elif asked.result is not None:
                yield _finding(
                    "contract-posture",
                    "launch",
                    f"In the mode {name} it plans approvals={posture.approvals}, sandbox={posture.sandbox}, which the "
                    "manifest does not declare.",
                )
        before = sorted(self._workspace.iterdir())
        posture = next(iter(mode.postures), None)
        chosen = (
            Posture() if posture is None else Posture(approvals=posture.approvals, sandbox=posture.sandbox)
        )
        asked = await self._ask(plugin, "preflight", self._request(name, "fresh", chosen))
        if asked.fault is not None:
            yield asked.fault
        if sorted(self._workspace.iterdir()) != before:
            yield _finding("contract-quiet", "preflight", f"In the mode {name} it writes into the workspace.")

    async def _check_plan(
        self, plugin: HarnessPlugin, mode: ModeManifest, request: LaunchRequest
    ) -> AsyncIterator[Finding]:
        method = "launch" if request.attempt == "fresh" else request.attempt
        asked = await self._ask(plugin, method, request)
        if asked.fault is not None:
            yield asked.fault
            return
        plan = asked.result
        if not isinstance(plan, LaunchPlan):
            return
        fault = find_plan_fault(mode, request, plan)
        if fault is not None:
            yield _finding(
                "contract-plan", method, f"In the mode {request.mode} its plan is of no use: {fault}."
            )
        if request.reference is not None and plan.settings.session_id != request.reference.id:
            yield _finding(
                "contract-session", method, f"In the mode {request.mode} its plan names another session."
            )

    async def _check_errors(self, plugin: HarnessPlugin) -> AsyncIterator[Finding]:
        error = CallError(code="call_failed", message=_WORDS, raw_code=-32603)
        for name in self._manifest.modes:
            asked = await self._ask(plugin, "classify_error", ErrorQuery(mode=name, error=error))
            if asked.fault is not None:
                yield asked.fault
            if not isinstance(asked.result, Classified):
                continue
            known = asked.result.error
            if known.code not in ERROR_CODES:
                yield _finding("contract-error", "classify_error", f"{known.code!r} is no code of Inspan's.")
            if _WORDS not in known.message:
                yield _finding("contract-error", "classify_error", "It drops what the harness said.")

    async def _ask(self, plugin: HarnessPlugin, method: str, params: msgspec.Struct) -> _Asked:
        spec = METHODS[method]
        limit_s = self._deadline_s or spec.deadline_s
        try:
            result = await asyncio.wait_for(getattr(plugin, method)(params), limit_s)
        except (Unsupported, Refused, InspanError) as refusal:
            return _Asked(None, refusal)
        except TimeoutError:
            message = f"It did not answer within {limit_s:g} seconds."
            return _Asked(None, fault=_finding("contract-deadline", method, message))
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything, which is the finding
            message = f"It raised {_named(error)}; refuse with Refused, or say Unsupported."
            return _Asked(None, fault=_finding("contract-answer", method, message))
        if not isinstance(result, spec.result):
            message = f"It gave {type(result).__name__}, not {spec.result.__name__}."
            return _Asked(None, fault=_finding("contract-answer", method, message))
        try:
            is_same = msgspec.json.decode(msgspec.json.encode(result), type=spec.result) == result
        except (msgspec.MsgspecError, TypeError, ValueError, UnicodeEncodeError) as error:
            message = f"Its result cannot go over the wire: {_named(error)}."
            return _Asked(None, fault=_finding("contract-wire", method, message))
        if not is_same:
            message = "Its result is another one after a way over the wire."
            return _Asked(None, fault=_finding("contract-wire", method, message))
        return _Asked(result)

    def _context(self) -> PluginContext:
        program = str(self._stand_in)
        variables = {override_variable(self._manifest.id): program}
        for mode in self._manifest.modes:
            variables[override_variable(self._manifest.id, mode=mode)] = program
        environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._workspace.parent),
            **variables,
        }
        return make_context(
            self._manifest, folder=str(self._folder), data_folder=str(self._data), environ=environ
        )

    def _attempts(self, mode: ModeManifest) -> Iterator[Attempt]:
        yield "fresh"
        if mode.capabilities.resume.is_supported:
            yield "resume"
        if mode.capabilities.fork.is_supported:
            yield "fork"

    def _request(self, mode: str, attempt: Attempt, posture: Posture) -> LaunchRequest:
        reference = SessionReference(
            harness=self._manifest.id,
            resume_type=self._manifest.session.resume_type,
            id=_SESSION,
            workspace=str(self._workspace),
            posture=posture,
            provenance=Provenance.REPORTED,
        )
        return LaunchRequest(
            seat="contract",
            harness=self._manifest.id,
            mode=mode,
            attempt=attempt,
            workspace=str(self._workspace),
            posture=posture,
            reference=None if attempt == "fresh" else reference,
        )

    def _other_questions(self) -> Iterator[tuple[str, msgspec.Struct]]:
        mode = self._manifest.default_mode
        launch = LaunchQuery(
            launch="l_1", seat="contract", mode=mode, workspace=str(self._workspace), session_id=_SESSION
        )
        yield "check_ready", ReadyQuery(mode=mode, harness_name="", session_id=_SESSION)
        yield "inspect_process", ProcessQuery(pid=1, name="init", command=("/sbin/init",))
        yield "capture_identity", launch
        yield "get_activity", launch
        yield "get_context_usage", launch
        yield "deliver", PromptQuery(launch=launch, delivery="d_1", text="hello")
        yield "cancel", launch
        yield "answer_permission", PermissionAnswer(launch=launch, request="p_1")
        resources = ResourceQuery(workspace=str(self._workspace), kind="skill", names=())
        yield "project_resources", resources
        yield "remove_resources", resources
        yield "history", HistoryQuery(session_id=_SESSION, workspace=str(self._workspace))
        yield "teardown", Teardown(seat="contract", is_deleted=True)


def _undeclared(mode: ModeManifest) -> Iterator[Posture]:
    declared = {(rule.approvals, rule.sandbox) for rule in mode.postures}
    for approvals in Approvals:
        for sandbox in Sandbox:
            if (approvals, sandbox) not in declared:
                yield Posture(approvals=approvals, sandbox=sandbox)


def _finding(rule: str, at: str, message: str) -> Finding:
    return Finding(severity="fault", rule=rule, at=at, message=message, hint="See docs/plugin-protocol.md.")


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
