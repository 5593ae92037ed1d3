"""The package: what `import inspan` offers, and what it does not load."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

import inspan
from inspan.model.errors import HostError
from support.fake_daemon import DEADLINE_S


def test_what_the_package_promises_is_there() -> None:
    for name in inspan.__all__:
        assert getattr(inspan, name)
        assert name in dir(inspan)
    assert not hasattr(inspan, "nonsense")


def test_importing_the_package_loads_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import inspan; inspan.__version__;"
        "print(sorted(set(sys.modules) - before))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert answer.stdout.strip() == "['inspan']"


def test_connecting_loads_no_part_of_the_daemon() -> None:
    code = (
        "import sys, inspan; inspan.connect; inspan.Client;"
        "print([name for name in sys.modules if name.startswith(('inspan.daemon', 'inspan.seats', 'litestar'))])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert answer.stdout.strip() == "[]"


def test_a_daemon_in_this_process_serves_others_and_is_gone_afterwards(throwaway_home: Path) -> None:
    async def test() -> None:
        async with inspan.open_local() as client, inspan.connect(start=False) as other:
            assert type(client) is type(other) is inspan.Client
            assert (await client.status()).pid == (await other.status()).pid
            with pytest.raises(HostError) as caught:
                async with inspan.open_local():
                    pass
            assert caught.value.code == "daemon_running"
        assert not client.home.socket.exists()
        async with inspan.open_local(throwaway_home / "inspan") as again:
            assert (await again.status()).last_position == 0

    asyncio.run(asyncio.wait_for(test(), DEADLINE_S))


def test_what_a_program_raises_inside_a_local_daemon_comes_out_as_it_is() -> None:
    async def test() -> None:
        async with inspan.open_local():
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(test())
