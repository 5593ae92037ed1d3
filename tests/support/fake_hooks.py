"""The part of the scripted service that is about hooks: it says what it was asked."""

from __future__ import annotations

from inspan.model.hook_views import HookPlaceView, HooksView

__all__ = ["FakeHooks"]


class FakeHooks:
    """Hooks in memory."""

    async def show_hooks(self, target: str) -> HooksView:
        return _view(target, "shown")

    async def install_hooks(self, target: str, *, shared: bool = False) -> HooksView:
        return _view(target, "installed, shared" if shared else "installed")

    async def remove_hooks(self, target: str) -> HooksView:
        return _view(target, "removed")


def _view(target: str, note: str) -> HooksView:
    place = HookPlaceView(scope="shared", path="/h/hooks.json", state="absent")
    return HooksView(harness=target, places=(place,), note=note)
