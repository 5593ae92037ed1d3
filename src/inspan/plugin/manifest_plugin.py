"""The data-only plugin: everything that a manifest alone can say."""

from __future__ import annotations

import os
from typing import ClassVar

import msgspec

from inspan.model.errors import InspanError
from inspan.model.plan import LaunchPlan, LaunchRequest, ProbeResult, Problem

from .contract import HarnessPlugin
from .diagnosing import diagnose
from .planning import build_plan, find_posture
from .probing import probe_harness
from .programs import find_program
from .session_making import make_session, place_store
from .values import Classified, ErrorQuery, Nothing, Preflight, Readiness, ReadyQuery

__all__ = ["ManifestPlugin"]


class ManifestPlugin(HarnessPlugin):
    """Serves a harness from its manifest; a `plugin.py` may subclass it and change what data cannot say."""

    why_unsupported: ClassVar[dict[str, str]] = {
        "inspect_process": "The manifest gives process names as a hint only; a name proves nothing.",
        "capture_identity": "The transport reports the session id.",
        "get_activity": "The transport reports activity, where the mode can.",
        "get_context_usage": "The transport reports context usage, where the mode can.",
        "deliver": "The transport delivers prompts.",
        "cancel": "The transport cancels turns.",
        "answer_permission": "The transport answers permission requests.",
        "project_resources": "The manifest names no place for guidance or skills.",
        "remove_resources": "The manifest names no place for guidance or skills.",
        "history": "The harness's store is not described by the manifest.",
        "teardown": "The harness leaves nothing behind that its manifest knows of.",
    }

    async def probe(self, params: Nothing) -> ProbeResult:
        """Asks the installed programs for their versions, and looks whether somebody is signed in."""
        del params
        present = frozenset(self.context.present)
        return await probe_harness(self.context.manifest, self.context.environ, present=present)

    async def preflight(self, params: LaunchRequest) -> Preflight:
        """Looks whether the program and the workspace are there and posture, model and effort can be told."""
        problems: list[Problem] = []
        try:
            find_program(self.context.manifest, self._environ(params), mode=params.mode)
        except InspanError as error:
            problems.append(Problem.of(error))
        try:
            find_posture(self.context.manifest.modes[params.mode], params.posture)
        except InspanError as error:
            problems.append(Problem.of(error))
        if not problems:
            try:
                self._plan(params)
            except InspanError as error:
                problems.append(Problem.of(error))
        if not os.access(params.workspace, os.R_OK | os.X_OK):
            problems.append(
                Problem(
                    code="workspace_missing",
                    message=f"The workspace {params.workspace} cannot be entered.",
                    hint="Make the folder, or give its owner the right to enter it.",
                )
            )
        return Preflight(problems=tuple(problems))

    async def launch(self, params: LaunchRequest) -> LaunchPlan:
        """The plan of a fresh launch; a session that is made before it is made now."""
        manifest = self.context.manifest
        command = manifest.modes[params.mode].session_id.command
        if command is None:
            return self._plan(params)
        find_posture(manifest.modes[params.mode], params.posture)
        environ = self._environ(params)
        program = find_program(manifest, environ, mode=params.mode)
        made = await make_session(command, program, environ, name=manifest.name, workspace=params.workspace)
        return self._plan(params, made_session=made)

    async def resume(self, params: LaunchRequest) -> LaunchPlan:
        """The plan of a launch that re-attaches."""
        return self._plan(params)

    async def fork(self, params: LaunchRequest) -> LaunchPlan:
        """The plan of a launch that branches."""
        return self._plan(params)

    async def check_ready(self, params: ReadyQuery) -> Readiness:
        """Ready once a session is open; what is missing in the handshake is named and never a refusal."""
        advisories = tuple(
            Problem(
                code="protocol_fault",
                message=f"{self.context.manifest.name} left {field} out of its handshake.",
                hint="It may work all the same; its version is unknown.",
                is_fatal=False,
            )
            for field, value in (("its name", params.harness_name), ("its version", params.harness_version))
            if not value
        )
        if params.session_id is None:
            return Readiness(ready="no", why="No session is open.", advisories=advisories)
        return Readiness(ready="yes", why="A session is open.", advisories=advisories)

    async def classify_error(self, params: ErrorQuery) -> Classified:
        """Applies the diagnoses of the mode."""
        manifest = self.context.manifest
        mode = manifest.modes.get(params.mode)
        known = diagnose(
            params.error,
            mode.diagnoses if mode else (),
            sign_in_hint=manifest.sign_in.hint,
            auth_variables=manifest.sign_in.auth_variables,
        )
        return Classified(error=known)

    def _plan(self, request: LaunchRequest, *, made_session: str | None = None) -> LaunchPlan:
        manifest, environ = self.context.manifest, self._environ(request)
        plan = build_plan(
            manifest,
            request,
            program=find_program(manifest, environ, mode=request.mode),
            present=frozenset(self.context.present) - frozenset(request.withheld),
            made_session=made_session,
            environ={name: value for name, value in environ.items() if name not in request.withheld},
        )
        source = plan.settings.session_source
        if source.store is None:
            return plan
        settings = msgspec.structs.replace(
            plan.settings,
            session_source=msgspec.structs.replace(
                source, store=place_store(source.store, manifest, request.workspace, environ)
            ),
        )
        return msgspec.structs.replace(plan, settings=settings)

    def _environ(self, request: LaunchRequest) -> dict[str, str]:
        """What decides which program is found: the operator's PATH for the seat goes before the daemon's."""
        return {**self.context.environ, **request.environment}
