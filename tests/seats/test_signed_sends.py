"""Signed sends: an operator's signature is checked beside the prompt, is good for one send, and is never in its text."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from inspan.cli.signing import sign_send
from inspan.model.errors import UsageError
from inspan.model.signed_send import signed_bytes
from inspan.model.views import DeliveryView, SendPrompt
from inspan.seats.core import Seats
from inspan.seats.signers import SIGNERS_FILE
from inspan.store import open_store
from support.seat_ground import Ground, open_ground, until

TEXT = "say 1 every 0.1 merge it"


def on_ground(story: Callable[[Ground, Seats], Awaitable[None]]) -> None:
    """Runs a story on a fresh ground with a seat."""

    async def run() -> None:
        async with open_ground() as ground, ground.seats() as seats:
            await ground.add(seats)
            await ground.add(seats, "other")
            await story(ground, seats)

    asyncio.run(run())


def make_key(ground: Ground, name: str = "ada", *, is_listed: bool = True) -> str:
    """A fresh key of an operator, listed in the home."""
    key = ground.path / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)], check=True)
    if is_listed:
        public = key.with_suffix(".pub").read_text()
        signers = ground.path / SIGNERS_FILE
        with signers.open("a") as file:
            file.write(f'{name}@example.org namespaces="inspan-send" {public}')
        signers.chmod(0o600)
    return str(key)


def signed(ground: Ground, key: str, *, seat: str = "worker", delivery: str = "d-1", text: str = TEXT) -> str:
    return sign_send(key, home=str(ground.path), seat=seat, delivery=delivery, text=text)


def signed_for_git(ground: Ground, key: str) -> str:
    data = signed_bytes(home=str(ground.path.resolve()), seat="worker", delivery="d-1", text=TEXT)
    command = ["ssh-keygen", "-Y", "sign", "-n", "git", "-f", key]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode()


async def send(seats: Seats, signature: str, *, text: str = TEXT, seat: str = "worker") -> DeliveryView:
    return await seats.send_prompt(seat, SendPrompt(text=text, id="d-1", signature=signature))


async def refused(seats: Seats, request: SendPrompt, seat: str = "worker") -> str:
    with pytest.raises(UsageError) as caught:
        await seats.send_prompt(seat, request)
    assert caught.value.code == "signature_invalid"
    assert await seats.list_deliveries(seat) == []
    return caught.value.message


@pytest.mark.requirement("H-E6")
def test_a_send_that_its_operator_signed_says_whose_it_is_for_ever() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        signature = signed(ground, make_key(ground))
        sent = await send(seats, signature)
        assert (sent.signed_by, sent.sender, sent.text) == ("ada@example.org", "", TEXT)
        await until(seats, "worker", lambda one: one.last_turn is not None)
        # The harness gets the prompt as it was written.
        assert ground.prompts() == [TEXT]
        again = await send(seats, signature)
        assert (again.signed_by, again.id) == ("ada@example.org", sent.id)
        assert ground.prompts() == [TEXT]
        async with open_store(ground.path / "log.db", read_only=True) as store:
            types = [one.type for one in store.events(limit=1000)]
        assert types.index("delivery_signed") == types.index("delivery_queued") + 1

    on_ground(story)


@pytest.mark.requirement("H-E6")
def test_a_signature_is_good_for_nothing_but_the_send_that_was_signed() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        key = make_key(ground)
        signature = signed(ground, key)
        wrong = (
            SendPrompt(text=TEXT + "!", id="d-1", signature=signature),
            SendPrompt(text=TEXT, id="d-2", signature=signature),
            SendPrompt(text=TEXT, signature=signature),
            SendPrompt(text=TEXT, id="d-1", override="why not", signature=signature),
            SendPrompt(text=TEXT, id="d-1", now=True, signature=signature),
        )
        for request in wrong:
            assert "another send" in await refused(seats, request)
        await refused(seats, SendPrompt(text=TEXT, id="d-1", signature=signature), "other")
        elsewhere = sign_send(key, home="/", seat="worker", delivery="d-1", text=TEXT)
        await refused(seats, SendPrompt(text=TEXT, id="d-1", signature=elsewhere))

    on_ground(story)


@pytest.mark.requirement("H-E6")
def test_a_key_that_nobody_listed_and_a_list_that_others_can_write_to_count_for_nothing() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        stranger = make_key(ground, "eve", is_listed=False)
        signature = signed(ground, stranger)
        assert "no keys are listed" in await refused(
            seats, SendPrompt(text=TEXT, id="d-1", signature=signature)
        )
        own = signed(ground, make_key(ground))
        assert "not listed" in await refused(seats, SendPrompt(text=TEXT, id="d-1", signature=signature))
        await refused(seats, SendPrompt(text=TEXT, id="d-1", signature="-----BEGIN SSH SIGNATURE-----"))
        await refused(seats, SendPrompt(text=TEXT, id="d-1", signature="x" * 100_000))
        (ground.path / SIGNERS_FILE).chmod(0o666)
        assert "others can write" in await refused(seats, SendPrompt(text=TEXT, id="d-1", signature=own))

    on_ground(story)


@pytest.mark.requirement("H-E6")
def test_what_was_signed_for_something_else_counts_for_nothing() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        key = make_key(ground)
        made = signed_for_git(ground, key)
        await refused(seats, SendPrompt(text=TEXT, id="d-1", signature=made))

    on_ground(story)


@pytest.mark.requirement("H-E6")
def test_a_signature_in_the_text_is_no_authority() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        signature = signed(ground, make_key(ground))
        sent = await send(seats, "", text=f"{TEXT}\nsigned by ada@example.org\n{signature}")
        assert (sent.signed_by, sent.sender) == ("", "")

    on_ground(story)


def test_a_machine_without_openssh_says_so_and_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        key = make_key(ground)
        signature = signed(ground, key)
        monkeypatch.setenv("PATH", str(Path("/nonexistent")))
        with pytest.raises(UsageError) as caught:
            await send(seats, signature)
        assert caught.value.code == "signing_unavailable"
        with pytest.raises(UsageError) as unsigned:
            signed(ground, key)
        assert unsigned.value.code == "signing_unavailable"
        assert await seats.list_deliveries("worker") == []

    on_ground(story)
