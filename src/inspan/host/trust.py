"""Trust: code from outside the tree runs only after the operator said so, for exactly these files."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from inspan.model.errors import HostError, PluginError

__all__ = ["TRUST_FILE", "TrustRecord", "TrustStore", "hash_folder"]

TRUST_FILE = "trust.json"
_MAX_FILES = 2000


class TrustRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator trusted.

    Attributes:
        folder: The folder, absolute.
        files: SHA-256 of every file, by path inside the folder.
        trusted_at: When.
    """

    folder: str
    files: dict[str, str]
    trusted_at: datetime


class TrustStore:
    """The operator's decisions, in one file of the Inspan home that only its owner can read."""

    def __init__(self, home: Path) -> None:
        self._file = home / TRUST_FILE

    def records(self) -> dict[str, TrustRecord]:
        """All decisions by harness id.

        Raises:
            HostError: `home_insecure` where others can write the file, `internal` where it cannot be read.
        """
        try:
            if self._file.stat().st_mode & 0o022:
                raise HostError(
                    f"{self._file} can be written by others.",
                    code="home_insecure",
                    hint=f"Look at what it trusts, then run: chmod 600 {self._file}",
                )
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, TrustRecord])
        except FileNotFoundError:
            return {}
        except msgspec.MsgspecError as error:
            raise HostError(
                f"{self._file} cannot be read: {error}.", hint="Remove it, and trust each harness again."
            ) from error

    def trust(self, harness: str, folder: Path) -> TrustRecord:
        """Pins every file of `folder` as it is now."""
        record = TrustRecord(
            folder=str(folder.resolve()), files=hash_folder(folder), trusted_at=datetime.now(UTC)
        )
        self._write({**self.records(), harness: record})
        return record

    def revoke(self, harness: str) -> bool:
        """Takes the trust back; whether there was any."""
        records = self.records()
        had = records.pop(harness, None) is not None
        if had:
            self._write(records)
        return had

    def check(self, harness: str, folder: Path) -> TrustRecord:
        """The record of a folder that was trusted and did not change since.

        Raises:
            PluginError: `plugin_untrusted`, with the files that were added, changed or removed.
        """
        record = self.records().get(harness)
        hint = f"Read the code in {folder}, then run: inspan harness trust {harness}"
        if record is None or record.folder != str(folder.resolve()):
            raise PluginError(
                f"The code of {harness} comes from outside and was not trusted.",
                code="plugin_untrusted",
                hint=hint,
                detail={"folder": str(folder)},
            )
        now = hash_folder(folder)
        changed = sorted(
            name for name in now.keys() | record.files.keys() if now.get(name) != record.files.get(name)
        )
        if changed:
            raise PluginError(
                f"The code of {harness} changed since it was trusted: {', '.join(changed[:5])}.",
                code="plugin_untrusted",
                hint=hint,
                detail={"folder": str(folder), "changed": changed},
            )
        return record

    def _write(self, records: dict[str, TrustRecord]) -> None:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._file.parent, prefix=".trust-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(records)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self._file)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise


def hash_folder(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below `folder`, by its path inside; cached bytecode counts too.

    Raises:
        PluginError: `plugin_untrusted` where the folder holds a symbolic link, whose target nobody pinned, or
            more files than anybody would read.
    """
    hashes: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise PluginError(
                f"{path} is a symbolic link, and what it leads to cannot be pinned.",
                code="plugin_untrusted",
                hint="Put the file itself into the folder.",
            )
        if path.is_file():
            hashes[path.relative_to(folder).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
        if len(hashes) > _MAX_FILES:
            raise PluginError(
                f"{folder} holds more than {_MAX_FILES} files.",
                code="plugin_untrusted",
                hint="Keep only the harness's own files in it.",
            )
    return hashes
