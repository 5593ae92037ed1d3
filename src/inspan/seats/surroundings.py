"""The surroundings of the seats of one home: what each launch finds around it, what views say of it, what goes at the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from inspan.holder import stop_background
from inspan.model.errors import InspanError
from inspan.model.state import SeatState
from inspan.model.turn import CallError
from inspan.model.views import SeatView
from inspan.store import Store

from .caution import caution_of
from .harnesses import Harnesses
from .isolation import Surroundings, forget_config, show_config, surround, withheld_auth
from .seeding import prepare_config

__all__ = ["SeatSurroundings"]

_log = logging.getLogger("inspan.seats")


class SeatSurroundings:
    """What isolation knows of the seats of a home.

    Args:
        store: The log.
        harnesses: Where manifests are looked up.
        launches: The home's folder of launches.
        environ: The environment that harnesses inherit.
    """

    def __init__(
        self, *, store: Store, harnesses: Harnesses, launches: Path, environ: Mapping[str, str]
    ) -> None:
        self._store = store
        self._harnesses = harnesses
        self._launches = launches
        self._environ = environ

    def look(self, state: SeatState) -> Surroundings:
        """What the seat's harness would find around it; nothing is made. Raises `InspanError` without a manifest."""
        manifest = self._harnesses.registry.manifest(state.harness)
        return surround(state, manifest, launches=self._launches, environ=self._environ)

    def prepare(self, state: SeatState) -> Surroundings:
        """The same for a launch, with the seat's own configuration folder made ready; errors as `prepare_config`."""
        around = self.look(state)
        manifest = self._harnesses.registry.manifest(state.harness)
        prepare_config(state, manifest, around, others=self._store.seat_states(), environ=self._environ)
        return around

    def show(self, view: SeatView, state: SeatState) -> SeatView:
        """The view, with where the seat's configuration is and what its harness is not handed."""
        with contextlib.suppress(InspanError):
            manifest = self._harnesses.registry.manifest(state.harness)
            config = show_config(state, manifest, launches=self._launches, environ=self._environ)
            withheld = withheld_auth(state, manifest, self._environ)
            caution = caution_of(manifest, state.mode)
            return msgspec.structs.replace(view, config=config, withheld=withheld, caution=caution)
        return view

    def explain(self, state: SeatState, error: CallError) -> CallError:
        """The error; one about a missing sign-in says what the seat was not handed, and how it gets it."""
        if error.code != "auth_required":
            return error
        try:
            manifest = self._harnesses.registry.manifest(state.harness)
        except InspanError:
            return error
        hints = [error.hint]
        if withheld := withheld_auth(state, manifest, self._environ):
            hints.append(
                f"{', '.join(withheld)} is set here, but was not handed to this seat:"
                f" make it anew with --forward-auth or --env {withheld[0]}."
            )
        if state.config and "sign_in" not in state.shares:
            hints.append("The seat has a configuration folder of its own, where nobody is signed in.")
            if any(one.kind == "sign_in" for one in manifest.config.seed):
                hints.append("Made with --share sign_in, it has yours.")
        return msgspec.structs.replace(error, hint=" ".join(filter(None, hints)))

    async def stop_background(self, state: SeatState | None, launch: str) -> None:
        """Stops what the harness left running of its own, as its manifest says; nothing but of this launch."""
        if state is None:
            return
        try:
            known = self._harnesses.registry.manifest(state.harness).background
        except InspanError:
            return
        done = await stop_background(launch, [one.pattern for one in known if one.at_end == "stop"])
        if done.remaining:
            _log.warning("launch %s left %d processes that do not end", launch, len(done.remaining))

    async def remove(self, state: SeatState) -> None:
        """Removes the configuration folder of a seat that was removed, unless another seat uses it."""
        folder = forget_config(state, self._store.seat_states(), self._launches)
        if folder is not None:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
