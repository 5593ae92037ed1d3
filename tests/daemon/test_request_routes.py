"""Requests over HTTP and through the library."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from inspan.model.errors import UsageError
from inspan.model.request_views import RequestView
from inspan.model.turn import TurnOutcome
from support.fake_daemon import DEADLINE_S, open_fake

REQUEST = RequestView(id="fix login", status="waiting", opened_at=datetime(2026, 11, 30, tzinfo=UTC))


def run(test: Any) -> None:
    asyncio.run(asyncio.wait_for(test, DEADLINE_S))


def test_a_request_is_listed_shown_handed_off_and_closed(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            client = fake.client
            fake.service.requests[REQUEST.id] = REQUEST
            assert await client.list_requests() == [REQUEST]
            assert await client.get_request("fix login") == REQUEST
            handed = await client.hand_off_request("fix login", "second", text="Go on.", cancel=True)
            assert [(one.to_seat, one.delivery) for one in handed.handoffs] == [("second", "Go on. True")]
            closed = await client.settle_request("fix login")
            assert (closed.status, closed.outcome) == ("settled", TurnOutcome.CANCELLED)
            assert await client.list_requests() == []
            assert [one.id for one in await client.list_requests(include_settled=True)] == ["fix login"]
            with pytest.raises(UsageError) as refusal:
                await client.get_request("another")
            assert refusal.value.code == "unknown_request"

    run(test())
