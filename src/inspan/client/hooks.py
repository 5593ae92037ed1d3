"""The client's calls about a harness's hooks."""

from __future__ import annotations

from inspan.model.hook_views import HooksView

from .wire import Wire, segment

__all__ = ["HookCalls"]


class HookCalls:
    """A part of `inspan.client.client.Client`. A target is a seat's name, or else a harness's id."""

    _wire: Wire

    async def show_hooks(self, target: str) -> HooksView:
        """Where a harness is told of the hook relay. Raises `unknown_seat`, `hooks_unknown`."""
        return await self._wire.call("GET", _path(target), HooksView)

    async def install_hooks(self, target: str, *, shared: bool = False) -> HooksView:
        """Puts the relay into the operator's own file, where no launch is told of it by itself, or with `shared`.

        Raises:
            UsageError: `unknown_seat`, `hooks_unknown`, `hooks_file_invalid`, `hooks_file_read_only`,
                `hooks_file_changed`; the file is then as it was.
        """
        params = {"shared": "true" if shared else None}
        return await self._wire.call("POST", _path(target), HooksView, params=params)

    async def remove_hooks(self, target: str) -> HooksView:
        """Takes the relay out of the operator's own files, which are not deleted. Raises as `install_hooks`."""
        return await self._wire.call("DELETE", _path(target), HooksView)


def _path(target: str) -> str:
    return f"/v1/hooks/{segment(target, 'target')}"
