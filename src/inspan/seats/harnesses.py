"""What seats need of the host, and what they make of it: facts for views, context for decisions."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from inspan.model.capability import Capabilities
from inspan.model.diagnosis import TurnTextFailure
from inspan.model.errors import InspanError, UsageError
from inspan.model.ids import new_id
from inspan.model.manifest import Manifest, ModeManifest
from inspan.model.plan import LaunchPlan, LaunchRequest, ProbeResult, Problem
from inspan.model.session import Provenance
from inspan.model.state import SeatState
from inspan.model.turn import CallError
from inspan.model.typing_recipe import TypingRecipe
from inspan.model.views import HarnessView
from inspan.plugin.chosen_session import chooses_session
from inspan.transports import TERMINAL, is_one_shot

from .decision import Context
from .session_finding import given_provenance
from .view import HarnessFacts

__all__ = ["Harnesses", "HasLaunches", "Manifests", "context_of", "facts_of", "find_mode", "utc_now"]


class Manifests(Protocol):
    """The registry, as far as seats care."""

    def manifest(self, harness: str) -> Manifest:
        """The manifest of a harness that can be used. Raises `InspanError` with the reason otherwise."""
        ...


class Harnesses(Protocol):
    """The host, as far as seats care."""

    @property
    def registry(self) -> Manifests:
        """Where harnesses are looked up."""
        ...

    def views(self) -> Sequence[HarnessView]:
        """All harnesses."""
        ...

    def view(self, harness: str) -> HarnessView:
        """One harness. Raises `unknown_harness`."""
        ...

    async def probe(self, harness: str) -> ProbeResult:
        """Asks the installed program."""
        ...

    async def preflight(self, request: LaunchRequest) -> Sequence[Problem]:
        """What would keep a launch from working, as far as it can be seen without starting anything."""
        ...

    async def plan(self, request: LaunchRequest) -> LaunchPlan:
        """How a launch is to be started."""
        ...

    async def classify_error(self, harness: str, mode: str, error: CallError) -> CallError:
        """A harness's error as its manifest reads it."""
        ...


class HasLaunches(Protocol):
    """A home, as far as seats care."""

    @property
    def launches(self) -> Path:
        """The folder that holds one folder a launch."""
        ...


def find_mode(manifest: Manifest, mode: str) -> ModeManifest:
    """A mode of a harness.

    Raises:
        UsageError: `unknown_mode`.
    """
    found = manifest.modes.get(mode)
    if found is None:
        raise UsageError(
            f"{manifest.name} has no mode {mode!r}.",
            code="unknown_mode",
            hint="It has: " + ", ".join(sorted(manifest.modes)) + ".",
        )
    return found


def context_of(harnesses: Harnesses, state: SeatState | None) -> Context:
    """What a decision about a seat depends on; a harness that is gone can do nothing that is known."""
    capabilities, resume_type, provenance = Capabilities(), "", Provenance.REPORTED
    turn_text_failures: tuple[TurnTextFailure, ...] = ()
    one_shot, watched, model_option, is_dear = False, False, "", False
    recipe: TypingRecipe | None = None
    if state is not None:
        with contextlib.suppress(InspanError):
            manifest = harnesses.registry.manifest(state.harness)
            mode = find_mode(manifest, state.mode)
            turn_text_failures = mode.turn_text_failures
            capabilities, one_shot = mode.capabilities, is_one_shot(mode.transport)
            model_option = mode.acp.model_option
            is_dear = mode.wake is not None and mode.wake.cost == "expensive"
            watched, recipe = mode.transport == TERMINAL, mode.terminal.typing
            resume_type, provenance = manifest.session.resume_type, manifest.session.id_source
            if chooses_session(mode):
                provenance = Provenance.CHOSEN
            provenance = given_provenance(mode) or provenance
    return Context(
        now=utc_now(),
        new_id=new_id,
        capabilities=capabilities,
        resume_type=resume_type,
        provenance=provenance,
        turn_text_failures=turn_text_failures,
        model_option=model_option,
        is_wake_expensive=is_dear,
        is_one_shot=one_shot,
        is_watched=watched,
        can_type=recipe is not None,
        takes_text_while_running=recipe is not None and recipe.takes_text_while_running,
        typed_commands="" if recipe is None else recipe.commands,
    )


def facts_of(harnesses: Harnesses, state: SeatState) -> HarnessFacts:
    """What a view of a seat says of its harness, with what keeps it from being used."""
    try:
        manifest = harnesses.registry.manifest(state.harness)
        mode = find_mode(manifest, state.mode)
        problem = harnesses.view(state.harness).problem if manifest.plugin else None
    except InspanError as error:
        problem = Problem.of(error)
        return HarnessFacts(name=state.harness, capabilities=Capabilities(), problem=problem)
    return HarnessFacts(
        name=manifest.name, scripted=manifest.scripted, capabilities=mode.capabilities, problem=problem
    )


def utc_now() -> datetime:
    """The time, aware UTC."""
    return datetime.now(UTC)
