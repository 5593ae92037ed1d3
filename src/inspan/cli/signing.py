"""Signing a send with an operator's own SSH key."""

from __future__ import annotations

import os
import subprocess

from inspan.model.errors import UsageError
from inspan.model.signed_send import NAMESPACE, signed_bytes

__all__ = ["sign_send"]


def sign_send(
    key: str,
    *,
    home: str,
    seat: str,
    delivery: str,
    text: str,
    request: str = "",
    is_urgent: bool = False,
    override: str = "",
) -> str:
    """The signature of a send; a passphrase or a touch is asked for on the terminal.

    Args:
        key: The file of the private key, or of a public one whose private one the SSH agent has.
        home: The home; for the rest see `signed_bytes`.

    Raises:
        UsageError: `signing_unavailable`: ssh-keygen is not there, or did not sign.
    """
    data = signed_bytes(
        home=os.path.realpath(home),
        seat=seat,
        delivery=delivery,
        text=text,
        request=request,
        is_urgent=is_urgent,
        override=override,
    )
    command = ["ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", os.path.expanduser(key)]
    try:
        done = subprocess.run(command, input=data, capture_output=True, check=False)
    except OSError as error:
        raise _unavailable(str(error.strerror)) from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _unavailable(said[-1] if said else f"it ended with status {done.returncode}")
    return done.stdout.decode("ascii", "replace")


def _unavailable(why: str) -> UsageError:
    return UsageError(
        f"ssh-keygen did not sign it: {why}",
        code="signing_unavailable",
        hint="Give `--sign` the file of an SSH key; `ssh-keygen -t ed25519 -f FILE` makes one.",
    )
