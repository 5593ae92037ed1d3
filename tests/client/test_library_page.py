"""docs/library.md: every example is a program that runs and says what the page says."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

import inspan
from inspan.client.autostart import is_serving
from inspan.home import locate_home
from support.fake_daemon import workspace

PAGE = Path(__file__).parent.parent.parent / "docs" / "library.md"
BLOCKS = re.findall(
    r"^## (.+?)$.*?^```python\n(.*?)^```\n\n```text\n(.*?)^```$",
    PAGE.read_text(encoding="utf-8"),
    re.M | re.S,
)


@pytest.fixture
def clean_end() -> Generator[None]:
    """Leaves neither a daemon nor a harness behind."""
    yield

    async def stop() -> None:
        async with inspan.connect() as client:
            await client.stop_daemon(harnesses=True)

    asyncio.run(stop())
    assert not is_serving(locate_home())


def test_every_example_of_the_page_is_found() -> None:
    assert len(BLOCKS) == PAGE.read_text(encoding="utf-8").count("```python") >= 6


@pytest.mark.usefixtures("clean_end")
@pytest.mark.parametrize(("program", "output"), [one[1:] for one in BLOCKS], ids=[one[0] for one in BLOCKS])
def test_an_example_says_what_the_page_says(throwaway_home: Path, program: str, output: str) -> None:
    file = throwaway_home / "example.py"
    file.write_text(program, encoding="utf-8")

    answer = subprocess.run(
        [sys.executable, "-W", "error", str(file)],
        cwd=workspace(throwaway_home),
        capture_output=True,
        text=True,
        timeout=100,
    )

    assert answer.stderr == ""
    assert answer.stdout == output
