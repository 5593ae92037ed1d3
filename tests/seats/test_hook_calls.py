"""Hooks installed for a seat or a harness, by the manifest's rule and in the place that its environment names."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from inspan.model.errors import UsageError
from inspan.model.hooks import HookInstall, HookSettings
from inspan.model.installation import ConfigFolder
from inspan.model.manifest import Manifest
from inspan.model.views import AddSeat
from inspan.seats.core import Seats, open_seats
from inspan.seats.hook_launch import choose_seat_install, install_own_hooks
from inspan.seats.isolation import Surroundings
from inspan.store import open_store
from support.console_ground import ConsoleGround, ConsoleHarnesses, open_console_ground
from support.hook_ground import HOOKS, SEAT_FILE
from support.seat_ground import until

SHARED = HookInstall(
    scope="shared", path="{config}/settings.json", entry='{"command": "{command}"}', needs="Trust it once."
)
MINE = '{"hooks": {"Stop": [{"command": "mine"}]}}'


class HookedHarnesses(ConsoleHarnesses):
    """A host whose one harness has hooks, which its manifest tells too."""

    def manifest(self, harness: str) -> Manifest:
        config = ConfigFolder(folder="~/.made-up", variable="MADE_UP_HOME", isolation="whole")
        return msgspec.structs.replace(super().manifest(harness), hooks=self.hooks, config=config)


def on_ground(
    story: Callable[[ConsoleGround, Seats], Awaitable[None]], *places: HookInstall, **environ: str
) -> None:
    async def run() -> None:
        async with open_console_ground() as ground:
            harnesses = HookedHarnesses(ground.state)
            harnesses.hooks = msgspec.structs.replace(HOOKS, install=places) if places else HookSettings()
            variables = {"HOME": str(ground.path), **environ}
            async with (
                open_store(ground.path / "log.db") as store,
                open_seats(store=store, host=harnesses, home=ground, environ=variables) as seats,
            ):
                await story(ground, seats)

    asyncio.run(run())


@pytest.mark.requirement("H-N7", "H-A30")
def test_hooks_of_a_harness_are_installed_shown_and_removed() -> None:
    async def story(ground: ConsoleGround, seats: Seats) -> None:
        file = ground.path / ".made-up" / "settings.json"
        file.parent.mkdir()
        file.write_text(MINE)
        assert [one.state for one in (await seats.show_hooks("made-up")).places] == ["absent"]
        view = await seats.install_hooks("made-up")
        (place,) = view.places
        assert (place.path, place.state, place.is_changed, place.needs) == (
            str(file),
            "installed",
            True,
            "Trust it once.",
        )
        assert set(place.events) == set(HOOKS.names)
        assert view.is_told
        assert not (await seats.install_hooks("made-up")).places[0].is_changed
        view = await seats.remove_hooks("made-up")
        assert (view.places[0].state, view.is_told, file.read_text()) == ("absent", False, MINE)

    on_ground(story, SHARED)


def test_a_seat_s_own_environment_says_where_its_harness_reads() -> None:
    async def story(ground: ConsoleGround, seats: Seats) -> None:
        other = ground.path / "other"
        request = AddSeat(
            name="worker",
            harness="made-up",
            workspace=str(ground.workspace),
            environment={"MADE_UP_HOME": str(other)},
        )
        await seats.add_seat(request)
        view = await seats.install_hooks("worker")
        assert (view.seat, view.harness) == ("worker", "made-up")
        assert "Stop" in json.loads((other / "settings.json").read_text())["hooks"]
        assert not (ground.path / ".made-up").exists()

    on_ground(story, SHARED)


def test_where_each_launch_is_told_the_operator_s_file_is_touched_only_when_asked_to() -> None:
    async def story(ground: ConsoleGround, seats: Seats) -> None:
        file = ground.path / ".made-up" / "settings.json"
        view = await seats.install_hooks("made-up")
        assert [one.state for one in view.places] == ["each_launch", "absent"]
        assert view.is_told
        assert not file.exists()
        view = await seats.install_hooks("made-up", shared=True)
        assert [one.state for one in view.places] == ["each_launch", "installed"]
        assert file.exists()

    on_ground(story, SEAT_FILE, SHARED)


def test_a_launch_is_not_told_where_that_would_hide_something_of_the_operator_s(tmp_path: Path) -> None:
    there = tmp_path / "defaults.json"
    place = msgspec.structs.replace(SEAT_FILE, unless_exists=(str(there),))
    settings = msgspec.structs.replace(HOOKS, install=(place, SHARED))
    assert choose_seat_install(settings, {}) is place
    assert choose_seat_install(settings, {"SCRIPTED_HOOKS": "/mine"}) is None
    there.touch()
    assert choose_seat_install(settings, {}) is None

    async def story(_: ConsoleGround, seats: Seats) -> None:
        (first, _second) = (await seats.show_hooks("made-up")).places
        assert (first.state, str(there) in first.warnings[0]) == ("taken", True)

    on_ground(story, place, SHARED)


@pytest.mark.parametrize(("target", "code"), [("nobody", "unknown_seat"), ("made-up", "hooks_unknown")])
def test_what_has_no_hooks_is_refused(target: str, code: str) -> None:
    async def story(_: ConsoleGround, seats: Seats) -> None:
        for call in (seats.show_hooks, seats.install_hooks, seats.remove_hooks):
            with pytest.raises(UsageError) as caught:
                await call(target)
            assert caught.value.code == code

    on_ground(story)


def test_a_seat_without_hooks_says_so() -> None:
    async def story(_: ConsoleGround, seats: Seats) -> None:
        view = await seats.show_hooks("made-up")
        assert (view.is_off, view.is_told) == (True, False)

    on_ground(story, SEAT_FILE, INSPAN_NO_HOOKS="1")


@pytest.mark.requirement("H-A30")
def test_a_seat_with_a_configuration_folder_of_its_own_is_told_there_by_itself() -> None:
    async def story(ground: ConsoleGround, seats: Seats) -> None:
        request = AddSeat(name="worker", harness="made-up", workspace=str(ground.workspace), isolated=True)
        await seats.add_seat(request)
        before = await seats.show_hooks("worker")
        assert [one.state for one in before.places] == ["absent"]
        file = Path(before.places[0].path)
        assert not file.is_relative_to(ground.path / ".made-up")
        await seats.start_seat("worker")
        await until(seats, "worker", lambda v: v.launch is not None and v.launch.pid is not None)
        assert (await seats.show_hooks("worker")).places[0].state == "installed"
        assert not (ground.path / ".made-up").exists(), "the operator's own is not touched"

    on_ground(story, msgspec.structs.replace(SHARED, needs=""))


@pytest.mark.parametrize("why", ["a person is asked", "a link leads out", "it cannot be read"])
def test_a_configuration_folder_of_its_own_is_left_alone_where_more_would_be_touched(
    tmp_path: Path, why: str
) -> None:
    folder, outside = tmp_path / "own", tmp_path / "operator.json"
    folder.mkdir()
    outside.write_text(MINE)
    file = folder / "settings.json"
    match why:
        case "a link leads out":
            file.symlink_to(outside)
        case "it cannot be read":
            file.write_text("no json")
        case _:
            file.write_text(MINE)
    install = SHARED if why == "a person is asked" else msgspec.structs.replace(SHARED, needs="")
    settings = msgspec.structs.replace(HOOKS, install=(install,))
    config = ConfigFolder(folder="~/.made-up", variable="MADE_UP_HOME", isolation="whole")
    around = Surroundings(inherited={}, given={"MADE_UP_HOME": str(folder)}, folder=folder)
    before = file.read_text()
    install_own_hooks(settings, config, around, "/w")
    assert (file.read_text(), outside.read_text()) == (before, MINE)
