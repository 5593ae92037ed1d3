"""The part of the service that is about a harness's hooks."""

from __future__ import annotations

from typing import Protocol

from inspan.model.hook_views import HooksView

__all__ = ["HookService"]


class HookService(Protocol):
    """What can be asked about hooks. A target is a seat's name, or else a harness's id."""

    async def show_hooks(self, target: str) -> HooksView:
        """Where a harness is told of the hook relay, and how it stands with each place.

        Raises `unknown_seat`, `hooks_unknown`.
        """
        ...

    async def install_hooks(self, target: str, *, shared: bool = False) -> HooksView:
        """Puts the relay into the operator's own file, where no launch is told of it by itself, or with `shared`.

        Doing it twice changes nothing more. Raises as `show_hooks`, and `hooks_file_invalid`, `hooks_file_read_only`,
        `hooks_file_changed`; the file is then as it was.
        """
        ...

    async def remove_hooks(self, target: str) -> HooksView:
        """Takes the relay out of the operator's own files, which are not deleted. Raises as `install_hooks`."""
        ...
