"""Resources through the service: the manifest's places in a workspace of the caller's."""

from __future__ import annotations

import asyncio

import pytest

from inspan.model.errors import UsageError
from support.host_ground import open_host_ground

PLACES = """
[[resources]]
kind = "guidance"
target = "{projectRoot}/AGENTS.md"
mode = "append-block"
[[resources]]
kind = "skill"
target = "{projectRoot}/.acme/skills/{id}"
mode = "directory"
"""


@pytest.mark.requirement("H-A5")
def test_the_places_of_a_harness_are_resolved_in_a_workspace() -> None:
    async def run() -> None:
        async with open_host_ground(program="", more=PLACES) as ground, ground.seats() as seats:
            (ground.workspace / ".acme/skills/review").mkdir(parents=True)
            found = await seats.list_resources("acme", str(ground.workspace))
            assert [(one.exists, one.found) for one in found.places] == [("no", ()), ("yes", ("review",))]
            named = await seats.list_resources("acme", str(ground.workspace), resource="build")
            assert [one.path for one in named.places] == [
                str(ground.workspace / "AGENTS.md"),
                str(ground.workspace / ".acme/skills/build"),
            ]
            for harness, workspace, resource, code in (
                ("nobody", str(ground.workspace), None, "unknown_harness"),
                ("acme", "relative", None, "invalid_argument"),
                ("acme", str(ground.workspace / "gone"), None, "workspace_missing"),
                ("acme", str(ground.workspace), "../x", "invalid_argument"),
            ):
                with pytest.raises(UsageError) as refusal:
                    await seats.list_resources(harness, workspace, resource=resource)
                assert refusal.value.code == code

    asyncio.run(run())
