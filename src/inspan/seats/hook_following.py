"""Following a launch's hooks, while its holder is followed, and what was left once nobody follows it any more."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from inspan.model.hooks import HookReport

from .actor import SeatActor
from .consoles import LiveConsole
from .hook_post import HookPost, open_hook_post
from .launch_folder import LaunchFiles, read_files
from .link import Link

__all__ = ["follow_hooks", "take_left_hooks"]


@asynccontextmanager
async def follow_hooks(
    actor: SeatActor,
    link: Link,
    console: LiveConsole | None,
    folder: Path,
    files: LaunchFiles,
    harness_pid: int | None,
) -> AsyncGenerator[None]:
    """Takes the launch's hook events as long as the block lasts; those that were left come before it begins."""
    post = _post(actor, link, folder, files, harness_pid)
    if post is None or console is None:
        yield
        return
    async with open_hook_post(post, folder):
        console.hooks = post
        yield


async def take_left_hooks(actor: SeatActor, link: Link, folder: Path) -> None:
    """Takes what is left in the spool of a launch whose process has ended."""
    files = read_files(folder)
    post = None if files is None else _post(actor, link, folder, files, None)
    if post is not None:
        await post.empty_spool()


def _post(
    actor: SeatActor, link: Link, folder: Path, files: LaunchFiles, harness_pid: int | None
) -> HookPost | None:
    machine = link.watching
    if machine is None or not files.hook_token_hash or not files.settings.hooks.events:
        return None

    async def take(report: HookReport) -> str:
        reason = await actor.hear_hook(link, machine, report)
        if not reason and actor.console is not None:
            actor.console.wake()
        return reason

    return HookPost(
        folder=folder,
        launch=link.launch,
        seat=actor.name,
        token_hash=files.hook_token_hash,
        settings=files.settings.hooks,
        harness_pid=harness_pid,
        take=take,
    )
