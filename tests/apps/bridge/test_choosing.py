"""Which harness: the first that was named, never another one; and the rungs of its ladder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from inspan.apps.bridge.builtin import profile_entry, read_built_ins
from inspan.apps.bridge.choosing import Choice, choose, known_profiles
from inspan.apps.bridge.harnesses_file import HarnessesFile, read_profile
from inspan.apps.bridge.ladder import Ladder, Surroundings, climb
from inspan.apps.bridge.routes import HeadlessRoute, Profile, SeatRoute, SubscribeRoute
from inspan.apps.bridge.seats import SeatBook
from inspan.apps.faults import Rejected
from support.harness_folders import add_harness, add_program, manifest_text

NOBODY = "no-such-program"


def headless(id_: str, command: str = "/bin/sh") -> Profile:
    return Profile(id=id_, name=id_, routes=(HeadlessRoute(command=command, args=("{prompt}",)),))


PROFILES = (headless("first", NOBODY), headless("second"), headless("third"))


def around(folder: Path, path: str | None = None) -> Surroundings:
    environ = {"PATH": os.defpath if path is None else path}
    return Surroundings(app=folder, environ=environ, seats=SeatBook())


def chosen(
    folder: Path,
    *,
    named: str | None = None,
    variable: str | None = None,
    default: str = "",
    profiles: tuple[Profile, ...] = PROFILES,
) -> Choice:
    file = HarnessesFile(path=folder / "harnesses.json", default=default)
    environ = {"A2APP_HARNESS": variable} if variable is not None else {}
    place = around(folder)
    return choose(profiles, named=named, environ=environ, file=file, climb=lambda one: climb(one, place))


def id_of(choice: Choice) -> str | None:
    return choice.profile.id if choice.profile else None


@pytest.mark.requirement("P28")
def test_the_flag_wins_over_the_variable_that_over_the_default_and_that_over_the_first_that_works(
    tmp_path: Path,
) -> None:
    everything = chosen(tmp_path, named="third", variable="second", default="first")
    assert (id_of(everything), everything.why) == ("third", "--harness names 'third'")
    assert id_of(chosen(tmp_path, variable=" second ", default="third")) == "second"
    by_default = chosen(tmp_path, variable="  ", default="third")
    assert id_of(by_default) == "third"
    assert str(tmp_path / "harnesses.json") in by_default.why
    by_itself = chosen(tmp_path)
    assert id_of(by_itself) == "second"
    assert "nobody named one" in by_itself.why


@pytest.mark.requirement("P28")
@pytest.mark.parametrize(
    "how", [{"named": "fourth"}, {"variable": "fourth"}, {"default": "fourth"}, {"named": ""}]
)
def test_a_name_that_nobody_has_is_an_error_with_the_names_that_there_are(
    tmp_path: Path, how: dict[str, Any]
) -> None:
    with pytest.raises(Rejected) as caught:
        chosen(tmp_path, **how)
    assert "first, second, third" in caught.value.hint


@pytest.mark.requirement("P26", "P28")
def test_one_that_was_named_and_cannot_be_reached_is_not_replaced_by_another(tmp_path: Path) -> None:
    choice = chosen(tmp_path, named="first")
    assert (id_of(choice), choice.ladder.route) == ("first", None)
    assert all(not one.is_available for one in choice.ladder.rungs)
    assert NOBODY in next(one.detail for one in choice.ladder.rungs if one.mode == "headless")


def test_where_none_can_be_reached_none_is_chosen(tmp_path: Path) -> None:
    choice = chosen(tmp_path, profiles=(headless("only", NOBODY),))
    assert (choice.profile, choice.ladder.route) == (None, None)


@pytest.mark.requirement("P27")
def test_an_entry_of_the_file_replaces_a_built_in_of_its_id_outright_and_in_its_place() -> None:
    own = Profile(id="second", name="mine", routes=(SubscribeRoute(),))
    file = HarnessesFile(path=Path("/h"), profiles=(headless("new"), own))
    known = known_profiles(PROFILES, file)
    assert [one.id for one in known] == ["first", "second", "third", "new"]
    assert known[1] is own


def test_a_seat_can_be_named_as_a_harness(tmp_path: Path) -> None:
    choice = chosen(tmp_path, named="seat:writer")
    assert choice.profile is not None
    assert choice.profile.routes == (SeatRoute(seat="writer"),)
    with pytest.raises(Rejected):
        chosen(tmp_path, named="seat:../x")


@pytest.mark.requirement("P26")
def test_the_deepest_rung_is_taken_in_whatever_order_the_profile_lists_them(tmp_path: Path) -> None:
    def climbed(*routes: dict[str, Any]) -> Ladder:
        return climb(read_profile(tmp_path, "", {"id": "x", "routes": list(routes)}), around(tmp_path))

    inbound = {"mode": "inbound", "url": "http://127.0.0.1:9/x"}
    run = {"mode": "headless", "command": "/bin/sh", "args": ["{prompt}"]}
    gateway = {
        "mode": "gateway",
        "url": "http://127.0.0.1:9/",
        "start": "true",
        "health": "http://127.0.0.1:9/",
    }
    subscribe = {"mode": "subscribe", "hint": "Run it."}
    for count, routes in enumerate(
        [(subscribe, gateway, run, inbound), (subscribe, gateway, run), (subscribe, gateway), (subscribe,)]
    ):
        ladder = climbed(*routes)
        assert ladder.route is not None
        assert ladder.route.mode == ("inbound", "headless", "gateway", "subscribe")[count]
        assert [one.mode for one in ladder.rungs] == ["inbound", "headless", "gateway", "subscribe"]
        assert all(one.detail.strip() and "\n" not in one.detail for one in ladder.rungs)


@pytest.mark.requirement("P26")
def test_an_inbound_rung_that_does_not_answer_its_health_is_passed_over(tmp_path: Path) -> None:
    down = {"mode": "inbound", "url": "http://127.0.0.1:9/", "health": "http://127.0.0.1:9/up"}
    run = {"mode": "headless", "command": "/bin/sh", "args": ["{prompt}"]}
    ladder = climb(read_profile(tmp_path, "", {"id": "x", "routes": [down, run]}), around(tmp_path))
    assert ladder.route is not None
    assert ladder.route.mode == "headless"
    assert "does not answer" in ladder.rungs[0].detail


def test_a_command_may_be_a_path_from_the_apps_folder_and_must_be_a_program(tmp_path: Path) -> None:
    program = add_program(tmp_path / "bin", "agent", "")
    assert climb(headless("x", "bin/agent"), around(tmp_path)).route is not None
    program.chmod(0o600)
    assert climb(headless("x", "bin/agent"), around(tmp_path)).route is None
    assert climb(headless("x", str(tmp_path)), around(tmp_path)).route is None


GRANTED = """\
[sign_in]
environment = ["{name}_KEY"]

[modes.once]
transport = "headless"
launch.args = ["run"]

[modes.once.headless]
output = "text"

[modes.once.headless.grant]
reach = "{reach}"
args = ["--allow={{program}}"]
source = "a test"
verified = "2026-12-01"
"""


def manifest(name: str, reach: str) -> str:
    text = manifest_text(name, more=GRANTED.format(name=name.upper(), reach=reach))
    return text.replace("acme-agent", f"{name}-program")


@pytest.mark.requirement("P27")
def test_every_harness_that_has_a_grant_is_a_built_in_profile_the_narrowest_first(
    throwaway_home: Path,
) -> None:
    own = throwaway_home / "inspan" / "harnesses"
    for name, reach in (("aaa", "everything"), ("bbb", "sandbox"), ("zzz", "program")):
        add_harness(own, name, manifest(name, reach))
    profiles = read_built_ins({"PATH": os.defpath}).profiles
    ours = [one for one in profiles if one.id in ("aaa-program", "bbb-program", "zzz-program")]
    assert [one.also_called[0] for one in ours] == ["zzz", "bbb", "aaa"]
    seat, run = ours[0].routes
    assert seat == SeatRoute(harness="zzz")
    assert isinstance(run, HeadlessRoute)
    assert (run.args, run.input, run.env) == (("run", "--allow=a2app"), "stdin", ("ZZZ_KEY",))
    assert "not installed" in run.missing
    assert "nothing else" in run.grant


@pytest.mark.requirement("P27")
def test_the_built_in_profiles_are_the_manifests_and_every_one_that_runs_says_what_it_may_do() -> None:
    profiles = read_built_ins({"PATH": os.defpath}).profiles
    runs = [route for one in profiles for route in one.routes if isinstance(route, HeadlessRoute)]
    assert len(runs) >= 8
    assert all(
        run.grant and (run.input == "stdin" or any("{prompt}" in one for one in run.args)) for run in runs
    )
    assert len({one.id for one in profiles}) == len(profiles)
    assert all(isinstance(one.routes[0], SeatRoute) for one in profiles)


def test_a_harness_is_found_by_its_id_as_well_as_by_its_programs_name(
    throwaway_home: Path, tmp_path: Path
) -> None:
    add_harness(throwaway_home / "inspan" / "harnesses", "zzz", manifest("zzz", "program"))
    profiles = read_built_ins({"PATH": os.defpath}).profiles
    assert id_of(chosen(tmp_path, named="zzz", profiles=profiles)) == "zzz-program"


def test_a_built_in_profile_can_be_written_as_an_entry_of_the_file(throwaway_home: Path) -> None:
    add_harness(throwaway_home / "inspan" / "harnesses", "zzz", manifest("zzz", "program"))
    entry = profile_entry("zzz", {"PATH": os.defpath})
    assert entry is not None
    (route,) = read_profile(Path("h"), "", entry).routes
    assert route == HeadlessRoute(command="zzz-program", args=("run", "--allow=a2app"), input="stdin")
    assert profile_entry("nobody", {}) is None
