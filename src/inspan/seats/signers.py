"""Signers: whose signature a send carries, as OpenSSH says by the keys that the operator listed.

A signature is looked for beside a prompt, never in its text: what stands in a text is a claim.
"""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import tempfile
from pathlib import Path

from inspan.model.errors import UsageError
from inspan.model.signed_send import NAMESPACE, signed_bytes
from inspan.model.views import SendPrompt

__all__ = ["SIGNERS_FILE", "Signers"]

SIGNERS_FILE = "signers"
"""The file of a home that lists whose signatures count, in OpenSSH's format of allowed signers."""

_TIMEOUT_S = 10
_SIGNATURE_CAP = 16 * 1024


class Signers:
    """Those whose signatures count in a home.

    Args:
        home: The home.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._name = os.path.realpath(home)

    async def check(self, seat: str, delivery: str, request: SendPrompt) -> str:
        """Who signed a send; empty where it carries no signature.

        Raises:
            UsageError: `signature_invalid`, `signing_unavailable`; nothing was sent.
        """
        if not request.signature:
            return ""
        data = signed_bytes(
            home=self._name,
            seat=seat,
            delivery=delivery,
            text=request.text,
            request=request.request or "",
            is_urgent=request.now,
            override=request.override,
        )
        return await asyncio.to_thread(self._verify, request.signature, data)

    def _verify(self, signature: str, data: bytes) -> str:
        listed = self._home / SIGNERS_FILE
        try:
            found = listed.stat()
        except OSError:
            raise _invalid(f"no keys are listed in {listed}") from None
        if found.st_uid not in (0, os.getuid()) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise _invalid(f"others can write to {listed}")
        if len(signature) > _SIGNATURE_CAP:
            raise _invalid("it is too long for one")
        with tempfile.TemporaryDirectory(prefix="isp-") as folder:
            file = Path(folder) / "signature"
            file.write_text(signature, encoding="utf-8")
            known = _ask("find-principals", "-s", str(file), "-f", str(listed), data=b"")
            names = known.stdout.decode("utf-8", "replace").splitlines() if known.returncode == 0 else []
            for name in names:
                given = ("-I", name, "-n", NAMESPACE, "-s", str(file), "-f", str(listed))
                if _ask("verify", *given, data=data).returncode == 0:
                    return name
        raise _invalid(
            "its key is not listed, or it was made for something else"
            if not names
            else "it is of another send"
        )


def _ask(what: str, *arguments: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", what, *arguments],
            input=data,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(
            "The signature cannot be checked: OpenSSH's ssh-keygen does not run here.",
            code="signing_unavailable",
            hint="Install OpenSSH 8.2 or newer, or send it without `--sign`.",
        ) from error


def _invalid(why: str) -> UsageError:
    return UsageError(
        f"The signature does not count: {why}. Nothing was sent.",
        code="signature_invalid",
        hint="docs/signing.md says how a key is listed and a send is signed.",
    )
