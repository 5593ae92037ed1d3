"""Signs a person in to what plugins of the agent reach: `python -m inspan.agent.login [PROVIDER] [--out]`.

Without a provider it lists those that the person's plugins bring. `--out` deletes what an earlier sign-in gave.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence

from inspan.agent.agent import Agent
from inspan.model.errors import InspanError

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> int:
    """Does it; 0 if it went well, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m inspan.agent.login", description=__doc__)
    parser.add_argument("provider", nargs="?", help="what to sign in to; without, all are listed")
    parser.add_argument("--out", action="store_true", help="sign out instead")
    options = parser.parse_args(words)
    try:
        asyncio.run(_run(options.provider or "", is_out=options.out))
    except InspanError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


async def _run(provider: str, *, is_out: bool) -> None:
    # A folder of its own: signing in has nothing to do with where the person stands.
    with tempfile.TemporaryDirectory(prefix="isp-") as folder:
        async with Agent.create(workspace=folder) as agent:
            if not provider:
                names = [one.provider.id for one in agent.auth.list()]
                sys.stdout.write("\n".join(names or ["No plugin brings a way to sign in."]) + "\n")
            elif is_out:
                await agent.auth.logout(provider)
                sys.stdout.write(f"Signed out of {provider}.\n")
            else:
                await agent.auth.login(provider, _tell)
                sys.stdout.write(f"Signed in to {provider}.\n")


async def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
