"""Frames: length (`u32`, big-endian, of what follows), kind (`u8`), body; the same in both directions.

Kind `J` is a JSON object with a `type`. Kind `D` is a `u64` and bytes: an offset with output towards the
owner, an operation with input towards the harness. Kind `G` is such an operation, guarded: it is for the harness's
terminal as long as nothing stands in front of the harness.
"""

from __future__ import annotations

import json
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Kind = Literal["J", "D", "G"]

__all__ = ["FRAME_CAP", "FrameDecoder", "FrameFault", "encode_data", "encode_json", "split_data"]

FRAME_CAP = 32 * 1024 * 1024
"""The default for the most bytes after a frame's length field."""

_HEADER = struct.Struct(">IB")
_NUMBER = struct.Struct(">Q")
_JSON = 0x4A
_DATA = 0x44
_GUARDED = 0x47
_KINDS: dict[int, Kind] = {_JSON: "J", _DATA: "D", _GUARDED: "G"}


class FrameFault:
    """Why a stream of frames ended: a stable code and a sentence."""

    __slots__ = ("code", "message")

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message


class FrameDecoder:
    """Turns bytes, cut anywhere, into frames; refuses what is over the cap from the header alone.

    Attributes:
        fault: Set at the first malformed header; every later byte is ignored. Frames that came before
            it are still returned, so that the result does not depend on how the bytes were cut.
    """

    def __init__(self, cap: int = FRAME_CAP) -> None:
        self.cap = cap
        self.fault: FrameFault | None = None
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[Kind, bytes]]:
        """The frames that `data` completes, as (kind, body), in order."""
        frames: list[tuple[Kind, bytes]] = []
        if self.fault is not None:
            return frames
        buffer = self._buffer
        buffer += data
        start = 0
        with memoryview(buffer) as view:
            while len(buffer) - start >= 4:
                length = int.from_bytes(view[start : start + 4], "big")
                if length > self.cap:
                    self.fault = FrameFault(
                        "frame_too_large", f"frame of {length} bytes, the cap is {self.cap}"
                    )
                    break
                if length == 0:
                    self.fault = FrameFault("frame_malformed", "frame without a kind")
                    break
                if len(buffer) - start < 5:
                    break
                kind = _KINDS.get(buffer[start + 4])
                if kind is None:
                    number = buffer[start + 4]
                    self.fault = FrameFault("frame_malformed", f"unknown kind of frame {number}")
                    break
                if len(buffer) - start < 4 + length:
                    break
                frames.append((kind, bytes(view[start + 5 : start + 4 + length])))
                start += 4 + length
        if self.fault is not None:
            buffer.clear()
        elif start:
            del buffer[:start]
        return frames


def encode_json(value: dict[str, Any]) -> bytes:
    """A `J` frame."""
    body = json.dumps(value, separators=(",", ":")).encode()
    return _HEADER.pack(len(body) + 1, _JSON) + body


def encode_data(number: int, data: bytes, *, is_guarded: bool = False) -> bytes:
    """A `D` or `G` frame: `number` is an offset towards the owner, an operation towards the harness."""
    return _HEADER.pack(len(data) + 9, _GUARDED if is_guarded else _DATA) + _NUMBER.pack(number) + data


def split_data(body: bytes) -> tuple[int, bytes] | None:
    """The number and the bytes of a `D` or `G` frame's body, or None if it is too short for a number."""
    return (_NUMBER.unpack_from(body)[0], body[8:]) if len(body) >= 8 else None
