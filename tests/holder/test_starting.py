"""From a spec to a running harness, or to a typed error and nothing left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import sys

import pytest

from inspan.holder import HolderSpec, LaunchDisk, start_holder
from inspan.holder.program.processes import carries_launch, read_process
from inspan.model.errors import HolderError
from support.holders import (
    COUNTER,
    ECHO,
    Launches,
    connect,
    identity_of,
    kill_holder,
    members,
    pss_kib,
    scenario,
    script,
    until,
)


async def output_of(spec: HolderSpec) -> bytes:
    """What a harness that ends by itself has written."""
    disk = LaunchDisk(spec.directory)
    await until(disk.is_holder_dead, "the holder leaves by itself")
    return b"".join(data for _, data in disk.read_journal(0))


async def fails(launches: Launches, spec_index: int, code: str, reason: str) -> HolderError:
    spec = launches.specs[spec_index]
    with pytest.raises(HolderError) as caught:
        await start_holder(spec)
    assert (caught.value.code, caught.value.detail["reason"]) == (code, reason)
    assert members(spec) == []
    return caught.value


@scenario
async def test_the_harness_runs_when_start_returns_in_its_own_session_with_exactly_the_given_environment(
    launches: Launches,
) -> None:
    text = "import os, json; print(json.dumps([dict(os.environ), os.getcwd(), os.getsid(0) == os.getpid()]))"
    spec = await launches.start(*script(text), env={"PATH": "/bin", "ONE": "é"})
    env, cwd, is_leader = json.loads(await output_of(spec))
    env.pop("LC_CTYPE", None)  # Python itself sets it in a C locale
    assert env == {"PATH": "/bin", "ONE": "é", "INSPAN_LAUNCH": spec.launch}
    assert cwd == str(spec.cwd)
    assert is_leader


@scenario
async def test_the_harness_inherits_no_descriptor_and_no_signal_disposition(launches: Launches) -> None:
    text = (
        "import os, signal\n"
        "print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:4], end=' ')\n"
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
        "print(int(status['SigBlk'], 16), oct(os.umask(0)))\n"
    )
    if sys.platform != "linux":
        pytest.skip("needs /proc")
    mask = os.umask(0o022)
    os.umask(mask)
    spec = await launches.start(*script(text))
    output = await output_of(spec)
    assert output.split() == [b"[0,", b"1,", b"2,", b"3]", b"0", oct(mask).encode()]
    spec = await launches.start("grep", "SigIgn", "/proc/self/status")
    # Signals 32 and 33 belong to the C library: no program can change what is inherited.
    reserved = 0b11 << 31
    assert int((await output_of(spec)).split()[1], 16) & ~reserved == 0


@pytest.mark.requirement("H-H4", "L15")
@scenario
async def test_socket_and_folder_are_the_owner_s_alone(launches: Launches) -> None:
    before = os.umask(0)
    try:
        spec = await launches.start("cat")
    finally:
        os.umask(before)
    assert stat.S_IMODE(spec.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(spec.directory.stat().st_mode) == 0o700
    for path in spec.directory.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.requirement("L15")
@scenario
async def test_neither_nonce_nor_environment_stay_on_disk_or_show_in_a_repr(launches: Launches) -> None:
    spec = await launches.start("cat", env={"TOKEN": "very-secret"})
    async with await connect(spec):
        pass
    for path in spec.directory.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert b"very-secret" not in content, path
            assert spec.nonce.encode() not in content, path
    assert "very-secret" not in repr(spec)
    assert spec.nonce not in repr(spec)


@pytest.mark.requirement("L15")
@scenario
async def test_a_failed_start_leaves_no_secret_either(launches: Launches) -> None:
    spec = launches.spec("no-such-program", env={"PATH": "/bin", "TOKEN": "very-secret"})
    error = await fails(launches, 0, "launch_failed", "exec_failed")
    assert "very-secret" not in f"{error} {error.detail}"
    for path in spec.directory.rglob("*"):
        assert not path.is_file() or b"very-secret" not in path.read_bytes()


@scenario
async def test_a_program_that_cannot_be_executed_is_told_with_its_reason(launches: Launches) -> None:
    spec = launches.spec("no-such-program")
    error = await fails(launches, 0, "launch_failed", "exec_failed")
    assert "no-such-program" in error.message
    failure = LaunchDisk(spec.directory).failure()
    assert failure is not None
    assert failure.code == "exec_failed"
    assert LaunchDisk(spec.directory).identity() is None
    assert not spec.socket.exists()


@scenario
async def test_a_missing_working_folder_is_told(launches: Launches) -> None:
    launches.spec("cat", cwd=launches.root / "nowhere")
    await fails(launches, 0, "workspace_missing", "cwd_missing")


@scenario
async def test_a_socket_path_over_the_limit_is_refused_with_both_numbers_before_anything_is_made(
    launches: Launches,
) -> None:
    spec = launches.spec("cat", socket=launches.root / ("x" * 120))
    error = await fails(launches, 0, "socket_path_too_long", "socket_path_too_long")
    assert str(len(os.fsencode(spec.socket))) in error.message
    assert str(103 if sys.platform == "darwin" else 107) in error.message
    assert not spec.directory.exists()


@pytest.mark.requirement("H-H4")
@scenario
async def test_a_folder_that_others_may_enter_is_refused(launches: Launches) -> None:
    spec = launches.spec("cat")
    spec.directory.mkdir()
    spec.directory.chmod(0o755)
    await fails(launches, 0, "holder_failed", "folder_open")


@pytest.mark.requirement("H-H3", "H-N34")
@scenario
async def test_a_socket_on_which_somebody_answers_is_never_taken_over(launches: Launches) -> None:
    first = await launches.start(*script(ECHO))
    launches.spec("cat", socket=first.socket)
    await fails(launches, 1, "holder_failed", "socket_in_use")
    async with await connect(first) as connection:
        assert connection.welcome.launch == first.launch


@pytest.mark.requirement("H-H3")
@scenario
async def test_a_socket_that_is_not_listened_on_is_stale_and_replaced(launches: Launches) -> None:
    spec = launches.spec("cat")
    spec.directory.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(spec.socket))
    await start_holder(spec)
    async with await connect(spec):
        pass


@scenario
async def test_a_launch_is_started_at_most_once(launches: Launches) -> None:
    spec = await launches.start(*script(COUNTER))
    await fails_again(spec)
    kill_holder(spec)
    await until(LaunchDisk(spec.directory).is_holder_dead, "the holder is dead")
    await fails_again(spec)


async def fails_again(spec: HolderSpec) -> None:
    with pytest.raises(HolderError) as caught:
        await start_holder(spec)
    assert caught.value.detail["reason"] == "claimed"


@pytest.mark.requirement("L15")
@scenario
async def test_of_many_that_start_one_launch_at_once_exactly_one_does_and_no_secret_stays(
    launches: Launches,
) -> None:
    spec = launches.spec("cat", env={"PATH": os.defpath, "TOKEN": "very-secret"})
    results = await asyncio.gather(*(start_holder(spec) for _ in range(5)), return_exceptions=True)
    refused = [one for one in results if isinstance(one, HolderError)]
    assert [one.detail["reason"] for one in refused] == ["claimed"] * 4
    assert members(spec) == [identity_of(spec).harness.pid]
    assert b"very-secret" not in (spec.directory / "launch.json").read_bytes()


@scenario
async def test_an_abandoned_launch_is_never_started_and_a_started_one_never_abandoned(
    launches: Launches,
) -> None:
    spec = launches.spec("cat")
    spec.directory.mkdir(mode=0o700)
    disk = LaunchDisk(spec.directory)
    assert disk.claim() is None
    assert disk.abandon()
    assert disk.abandon()
    await fails(launches, 0, "holder_failed", "claimed")
    assert disk.is_holder_dead()
    started = await launches.start("cat")
    assert not LaunchDisk(started.directory).abandon()
    assert LaunchDisk(started.directory).claim() == identity_of(started).holder


@pytest.mark.parametrize("timeout_s", [0.0, 0.004, 0.008, 0.016, 0.024, 0.032])
@scenario
async def test_a_start_that_is_given_up_at_any_moment_leaves_nothing_running(
    launches: Launches, timeout_s: float
) -> None:
    spec = launches.spec("cat")
    codes: list[str] = []
    try:
        await start_holder(spec, timeout_s=timeout_s)
    except HolderError as error:
        codes.append(error.code)
    if codes:
        assert codes == ["holder_timeout"]
        await until(LaunchDisk(spec.directory).is_holder_dead, "the holder gives up")
        await until(lambda: not members(spec), "the harness is gone")
        spec.socket.unlink(missing_ok=True)  # a holder that was killed before it listened for signals
    else:
        assert not LaunchDisk(spec.directory).is_holder_dead()


@scenario
async def test_the_holder_is_nobody_s_child_and_does_not_carry_the_launch(launches: Launches) -> None:
    spec = await launches.start("cat")
    identity = identity_of(spec)
    row = read_process(identity.holder.pid)
    assert row is not None
    assert row.parent != os.getpid()
    assert members(spec) == [identity.harness.pid]
    assert not carries_launch(identity.holder.pid, spec.launch)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@scenario
async def test_the_holder_stays_small(launches: Launches) -> None:
    spec = await launches.start("cat")
    assert pss_kib(identity_of(spec).holder.pid) < 12 * 1024


@scenario
async def test_sigterm_to_the_holder_stops_the_harness_and_records_its_exit(launches: Launches) -> None:
    spec = await launches.start(*script("import sys; sys.stdin.read(); print('bye'); sys.exit(7)"))
    os.kill(identity_of(spec).holder.pid, signal.SIGTERM)
    disk = LaunchDisk(spec.directory)
    await until(disk.is_holder_dead, "the holder leaves")
    found = disk.exit()
    assert found is not None
    assert (found.exit_code, found.signal, found.end) == (7, None, 4)
    assert b"".join(data for _, data in disk.read_journal(0)) == b"bye\n"
    assert not spec.socket.exists()
