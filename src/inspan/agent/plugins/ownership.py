"""What one plugin has registered, so that all of it can be taken back, and until when it may register more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from inspan.agent.faults import fault_name, is_fault
from inspan.agent.leases import OwnerLease
from inspan.agent.plugins.owner import Step
from inspan.model.errors import PluginError

__all__ = ["Ownership"]

_MAX_WARNINGS = 20


class Ownership:
    """Keeps the account of one plugin of one agent.

    Args:
        owner: The plugin's id.
        is_required: Whether the agent cannot be made without it.
    """

    def __init__(self, owner: str, *, is_required: bool) -> None:
        self.owner = owner
        self.is_required = is_required
        self.lease = OwnerLease(owner)
        self.warnings: list[str] = []
        self.starts: list[Step] = []
        self.disposers: list[Step] = []
        self._is_disposing = False
        self._undos: list[tuple[str, Callable[[], None]]] = []
        self._is_setting_up = False

    @property
    def counts(self) -> Mapping[str, int]:
        """How many contributions of each kind are registered now."""
        return dict(Counter(kind for kind, _ in self._undos))

    def begin_setup(self) -> None:
        """Lets the plugin register from now on."""
        self._is_setting_up = True

    def end_setup(self) -> None:
        """Lets the plugin register no more. Calling it twice is safe."""
        self._is_setting_up = False

    @contextmanager
    def registering(self, kind: str) -> Generator[None]:
        """Registers something. Why it is refused is noted, since the plugin's own words about it are not shown.

        Raises:
            PluginError: `plugin_setup_over`, or what the registering itself raises.
        """
        try:
            self._check_setup(kind)
            yield
        except PluginError as error:
            self.warn(error.message)
            raise

    def _check_setup(self, kind: str) -> None:
        if not self._is_setting_up:
            raise PluginError(
                f"'{self.owner}' can register {kind} during its setup alone.",
                code="plugin_setup_over",
                hint="Register everything before setup returns.",
                detail={"owner": self.owner, "kind": kind},
            )

    def add_disposer(self, dispose: Step) -> None:
        """Adds what is run at the end, before those that are there.

        Raises:
            PluginError: `plugin_stopped`: the end has begun.
        """
        if self._is_disposing:
            raise PluginError(
                f"'{self.owner}' has stopped, and nothing would run its disposer.",
                code="plugin_stopped",
                hint="Close at once what was acquired.",
                detail={"owner": self.owner},
            )
        self.disposers.append(dispose)

    def begin_disposing(self) -> None:
        """Takes no more disposers. Calling it twice is safe."""
        self._is_disposing = True

    def keep(self, kind: str, undo: Callable[[], None]) -> None:
        """Notes what was registered and how it is taken back."""
        self._undos.append((kind, undo))

    def revert(self) -> None:
        """Takes everything back, latest first. One that cannot be is noted, and the next one comes. Safe twice."""
        while self._undos:
            kind, undo = self._undos.pop()
            try:
                undo()
            except BaseException as error:
                if not is_fault(error):
                    raise
                self.warn(f"What it registered in {kind} could not be taken back: {fault_name(error)}.")

    def warn(self, sentence: str) -> None:
        """Notes what went wrong without ending the plugin, in our words: the last few, none of them twice."""
        if sentence in self.warnings:
            return
        self.warnings.append(sentence)
        del self.warnings[:-_MAX_WARNINGS]
