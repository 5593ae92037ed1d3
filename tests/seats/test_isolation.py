"""A seat's own configuration folder: who gets one, what is in it, and that the operator's own is never rewritten."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from inspan.model.errors import HostError, UsageError
from inspan.model.installation import ConfigFolder, SignIn
from inspan.model.manifest import Maintainer, Manifest, ModeManifest, Program, SessionIdentity
from inspan.model.posture import Posture
from inspan.model.session_views import ForkSeat
from inspan.model.state import SeatState
from inspan.seats.core import Seats
from inspan.seats.isolation import decide_isolation, surround
from inspan.seats.seeding import prepare_config
from support.host_ground import HostGround
from support.isolation_ground import open_isolation_ground, operators_folder, ran, runs
from support.seat_ground import until

SEEDS = """
[[config.seed]]
path = "state.json"
text = '{"onboarded": true}'
[[config.seed]]
path = "auth.json"
kind = "sign_in"
from_file = "auth.json"
how = "link"
[[config.seed]]
path = "settings.json"
kind = "settings"
from_file = "settings.json"
"""


def on_ground(
    story: Callable[[HostGround, Seats], Awaitable[None]],
    config: str = "",
    environ: dict[str, str] | None = None,
) -> None:
    """Runs a story on a fresh ground."""

    async def run() -> None:
        async with open_isolation_ground(config, environ=environ) as ground, ground.seats() as seats:
            await story(ground, seats)

    asyncio.run(run())


def manifest_of(config: ConfigFolder) -> Manifest:
    return Manifest(
        schema=1,
        id="acme",
        name="Acme",
        maintainer=Maintainer(name="tests"),
        program=Program(names=("acme",)),
        session=SessionIdentity(resume_type="acme.v1"),
        modes={"once": ModeManifest(transport="headless")},
        default_mode="once",
        sign_in=SignIn(environment=("ACME_API_KEY",)),
        config=config,
    )


def state_of(**changes: Any) -> SeatState:
    fields: dict[str, Any] = {
        "name": "worker",
        "harness": "acme",
        "mode": "once",
        "workspace": "/w",
        "posture": Posture(),
        "added_at": datetime(2026, 11, 30, tzinfo=UTC),
        **changes,
    }
    return SeatState(**fields)


@pytest.mark.parametrize(
    ("config", "wanted", "given", "is_isolated"),
    [
        (ConfigFolder(variable="H", isolation="whole", writes_back="yes"), None, (), False),
        (ConfigFolder(variable="H", isolation="partial"), True, (), True),
        (ConfigFolder(isolation="home"), True, (), True),
        (ConfigFolder(variable="H", writes_back="yes", writes_launch_flags=True), None, (), True),
        (ConfigFolder(variable="H", writes_back="yes", writes_launch_flags=True), False, (), False),
        (ConfigFolder(variable="H", required=True), None, (), True),
        (ConfigFolder(variable="H", required=True), None, ("H",), False),
    ],
)
@pytest.mark.requirement("H-A14")
def test_the_manifest_decides_who_is_isolated_unless_the_operator_says_it(
    config: ConfigFolder, wanted: bool | None, given: tuple[str, ...], is_isolated: bool
) -> None:
    assert decide_isolation(manifest_of(config), wanted=wanted, given=given) is is_isolated


@pytest.mark.parametrize(
    ("config", "wanted", "given", "code"),
    [
        (ConfigFolder(), True, (), "isolation_unsupported"),
        (ConfigFolder(variable="H", isolation="none"), True, (), "isolation_unsupported"),
        (ConfigFolder(variable="H", required=True), False, (), "isolation_required"),
        (ConfigFolder(variable="H"), True, ("H",), "invalid_argument"),
    ],
)
def test_isolation_that_cannot_be_is_refused_when_the_seat_is_made(
    config: ConfigFolder, wanted: bool, given: tuple[str, ...], code: str
) -> None:
    with pytest.raises(UsageError) as refused:
        decide_isolation(manifest_of(config), wanted=wanted, given=given)
    assert refused.value.code == code


@pytest.mark.requirement("H-A13")
def test_each_isolated_seat_is_told_a_folder_of_its_own_by_the_harness_s_variable() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        first = await ground.add(seats, "first", isolated=True)
        second = await ground.add(seats, "second", isolated=True)
        assert first.config is not None
        assert second.config is not None
        assert first.config.isolated
        assert first.config.folder != second.config.folder
        for view in (first, second):
            run = await ran(ground, seats, view.name)
            assert view.config is not None
            assert run["environment"]["ACME_HOME"] == run["folder"] == view.config.folder
            folder = Path(run["folder"])
            assert folder.is_relative_to(ground.path)
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700  # noqa: ASYNC240
            assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700

    on_ground(story)


@pytest.mark.requirement("H-A13")
def test_a_harness_that_only_another_home_moves_gets_another_home(tmp_path: Path) -> None:
    state = state_of(config="c_1")
    around = surround(
        state,
        manifest_of(ConfigFolder(folder="~/.acme", isolation="home")),
        launches=tmp_path / "launches",
        environ={"HOME": "/home/me", "PATH": "/bin"},
    )
    assert around.given == {"HOME": str(tmp_path / "seats" / "c_1")}


def test_a_shared_seat_finds_the_operator_s_own_configuration() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        folder = operators_folder(ground, auth_json="secret")
        view = await ground.add(seats)
        run = await ran(ground, seats)
        assert "ACME_HOME" not in run["environment"]
        assert run["files"] == {"auth.json": "secret"}
        assert view.config is not None
        assert not view.config.isolated
        assert view.config.folder == str(folder)

    on_ground(story)


@pytest.mark.requirement("H-A14")
def test_a_harness_that_writes_its_launch_flags_back_never_rewrites_the_operator_s_settings() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        folder = operators_folder(ground, settings_json="mine")
        await ground.add(seats)
        run = await ran(ground, seats)
        assert Path(run["folder"], "conversation").exists()  # noqa: ASYNC240
        assert {path.name: path.read_text() for path in folder.iterdir()} == {"settings.json": "mine"}

    on_ground(story, 'writes_back = "yes"\nwrites_launch_flags = true')


def test_only_what_is_nobody_s_is_seeded_unasked() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        operators_folder(ground, auth_json="secret", settings_json="mine")
        await ground.add(seats, isolated=True)
        assert (await ran(ground, seats))["files"] == {"state.json": '{"onboarded": true}'}
        await ground.add(seats, "second", isolated=True, shares=("sign_in",))
        files = (await ran(ground, seats, "second"))["files"]
        assert files == {"state.json": '{"onboarded": true}', "auth.json": "secret"}

    on_ground(story, SEEDS)


def test_a_sign_in_is_linked_and_settings_are_copied_so_that_neither_is_changed_behind_the_operator() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        own = operators_folder(ground, auth_json="secret", settings_json="mine")
        view = await ground.add(seats, isolated=True, shares=("sign_in", "settings"))
        await ran(ground, seats)
        assert view.config is not None
        folder = Path(view.config.folder)
        assert (folder / "auth.json").readlink() == (own / "auth.json").resolve()
        assert not (folder / "settings.json").is_symlink()
        assert stat.S_IMODE((folder / "settings.json").stat().st_mode) == 0o600
        (folder / "settings.json").write_text("the seat's")
        await ran(ground, seats)
        assert (folder / "settings.json").read_text() == "the seat's"
        assert (own / "settings.json").read_text() == "mine"

    on_ground(story, SEEDS)


def test_what_the_harness_removed_is_not_put_back_and_what_came_later_is() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        own = operators_folder(ground)
        await ground.add(seats, isolated=True, shares=("sign_in",))
        assert "auth.json" not in (await ran(ground, seats))["files"]
        (own / "auth.json").write_text("secret")
        assert "auth.json" in (await ran(ground, seats, text="remove"))["files"]
        assert "auth.json" not in (await ran(ground, seats))["files"]
        assert (own / "auth.json").read_text() == "secret"

    on_ground(story, SEEDS)


def test_a_resumed_and_a_forked_conversation_stay_in_the_folder_that_holds_them() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        await ground.add(seats, isolated=True)
        await ran(ground, seats)
        await ran(ground, seats)
        await seats.fork_seat("worker", ForkSeat(name="branch"))
        await ran(ground, seats, "branch")
        first, again, branch = runs(ground)
        assert [run["args"][0] for run in (first, again, branch)] == ["new", "again", "branch"]
        assert first["folder"] == again["folder"] == branch["folder"]
        assert again["files"]["conversation"] == "hi"

    on_ground(story)


def test_the_folder_goes_with_the_seat_on_request_alone_and_not_while_another_seat_uses_it() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        operators_folder(ground, settings_json="mine")
        await ground.add(seats, isolated=True)
        folder = Path((await ran(ground, seats))["folder"])
        await seats.fork_seat("worker", ForkSeat(name="branch"))
        await until(seats, "worker", lambda view: view.launch is None or view.launch.status == "ended")
        await seats.remove_seat("worker", delete_config=True)
        assert os.path.isdir(folder)  # noqa: ASYNC240
        await seats.remove_seat("branch", delete_config=True)
        assert not os.path.exists(folder)  # noqa: ASYNC240
        await ground.add(seats, "kept", isolated=True)
        kept = Path((await ran(ground, seats, "kept"))["folder"])
        await seats.remove_seat("kept", stop=True)
        assert os.path.isdir(kept)  # noqa: ASYNC240
        await ground.add(seats, "shared")
        await seats.remove_seat("shared", delete_config=True)
        assert (ground.path / ".acme" / "settings.json").read_text() == "mine"

    on_ground(story)


@pytest.mark.requirement("H-A15")
def test_a_harness_that_must_write_its_folder_fails_before_it_starts_where_it_cannot() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        (ground.path / "seats").write_text("in the way")
        await ground.add(seats)
        assert await ran(ground, seats) == {}
        launch = (await seats.get_seat("worker")).launch
        assert launch is not None
        assert launch.error is not None
        assert launch.error.code == "config_not_writable"
        assert runs(ground) == []

    on_ground(story, "required = true")


@pytest.mark.requirement("H-A15")
def test_a_required_folder_is_not_shared_with_the_operator_nor_with_another_seat(tmp_path: Path) -> None:
    config = ConfigFolder(folder=str(tmp_path / "own"), variable="ACME_HOME", required=True)
    manifest = manifest_of(config)
    for name in ("own", "one"):
        (tmp_path / name).mkdir()

    def check(folder: str, *others: SeatState) -> None:
        given = {"ACME_HOME": folder} if folder else {}
        state = state_of(environment=given)
        around = surround(state, manifest, launches=tmp_path / "l", environ={})
        prepare_config(state, manifest, around, others=(state, *others), environ={})

    check(str(tmp_path / "one"))
    other = state_of(environment={"ACME_HOME": str(tmp_path / "one")}, name="other")
    for folder, others in (("", ()), (str(tmp_path / "own"), ()), (str(tmp_path / "one"), (other,))):
        with pytest.raises(UsageError) as refused:
            check(folder, *others)
        assert refused.value.code == "isolation_required"
    with pytest.raises(HostError) as missing:
        check(str(tmp_path / "nowhere"))
    assert missing.value.code == "config_not_writable"


@pytest.mark.requirement("H-A15")
def test_a_folder_that_is_read_only_is_seen_before_the_start(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):  # nothing but the kernel's own folders keeps root out
        folder = Path("/proc")
    manifest = manifest_of(ConfigFolder(variable="ACME_HOME", required=True))
    state = state_of(environment={"ACME_HOME": str(folder)})
    around = surround(state, manifest, launches=tmp_path / "l", environ={})
    with pytest.raises(HostError) as refused:
        prepare_config(state, manifest, around, others=(), environ={})
    assert refused.value.code == "config_not_writable"
