"""The hook relay: hands one event of a harness's own hook system to the seat that the harness runs in.

Run as `python -I -S relay.py EVENT [MARKER…]` by the harness, with the payload on standard input. It imports what costs
next to nothing, so that it starts about as fast as the interpreter does. It says nothing, ends with status 0 whatever
happens, and does nothing at all outside a seat: a hook must never get in its harness's way.

In a seat the variable `INSPAN_HOOKS` names the launch's folder. Where nobody takes the event there, it is left in the
folder's spool, which is bounded, for the daemon that comes back.
"""

import os
import sys
import time

__all__ = ["MAGIC", "PAYLOAD_BYTES", "SPOOL_BYTES", "SPOOL_SLACK_BYTES", "encode", "main"]

PAYLOAD_BYTES = 10 * 1024 * 1024
"""The largest payload; of a larger one only is told that there was one."""
SPOOL_BYTES = 4 * 1024 * 1024
"""How large the spool may grow; what comes then is told of without its payload."""
SPOOL_SLACK_BYTES = 1024 * 1024
"""How much further it grows by events without a payload."""
PATIENCE_S = 1.0
"""How long the payload may take to come, and the seat to take it."""
LOCK_TRIES = 50
MAGIC = b"inspan-hook/1"
ANCESTORS = 24


def main(argv: list[str]) -> None:
    """Hands over the event of `argv`, or leaves it in the spool.

    Raises:
        OSError: Neither could be done.
    """
    environ = os.environb
    folder, launch = environ.get(b"INSPAN_HOOKS"), environ.get(b"INSPAN_LAUNCH")
    if not folder or not launch:
        return
    order, at = time.monotonic_ns(), time.time_ns()
    payload = _read_all()
    fields = [
        MAGIC,
        launch,
        environ.get(b"INSPAN_SEAT", b""),
        environ.get(b"INSPAN_TOKEN", b""),
        os.fsencode(argv[1]) if len(argv) > 1 else b"",
        b"%d" % order,
        b"%d" % at,
        b" ".join(b"%d" % pid for pid in _ancestors()),
    ]
    head = [field.replace(b"\0", b"").replace(b"\n", b"") for field in fields]
    try:
        if _hand_over(folder + b"/hooks.sock", head, payload):
            return
    except OSError:
        pass
    head[3] = b""  # the folder is the proof there, and the token stands in no file
    _leave(folder + b"/hooks.spool", head, payload)


def encode(head: list[bytes], payload: bytes | None) -> bytes:
    """One event as it is sent and spooled; a payload that is missing was too large."""
    size = b"-" if payload is None else b"%d" % len(payload)
    return b"\0".join([*head, size]) + b"\n" + (payload or b"")


def _read_all() -> bytes | None:
    """The payload; `None` where it is too large, or does not come to its end."""
    import select

    pieces: list[bytes] = []
    size, until = 0, time.monotonic() + PATIENCE_S
    while select.select([0], [], [], max(0.0, until - time.monotonic()))[0]:
        piece = os.read(0, 1 << 16)
        if not piece:
            return b"".join(pieces) if size <= PAYLOAD_BYTES else None
        size += len(piece)
        # A payload that is too large is read to its end all the same: its harness may wait for that.
        if size <= PAYLOAD_BYTES:
            pieces.append(piece)
    return None


def _hand_over(path: bytes, head: list[bytes], payload: bytes | None) -> bool:
    """Whether the seat said that it has the event."""
    import _socket

    seat = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        seat.settimeout(PATIENCE_S)
        seat.connect(path)
        seat.sendall(encode(head, payload))
        return seat.recv(1) == b"+"
    finally:
        seat.close()


def _leave(path: bytes, head: list[bytes], payload: bytes | None) -> None:
    """Appends the event to the spool, whole or not at all."""
    spool = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        for attempt in range(LOCK_TRIES):
            try:
                os.lockf(spool, os.F_TLOCK, 0)
                break
            except OSError:
                if attempt == LOCK_TRIES - 1:
                    raise
                time.sleep(0.01)
        length = os.fstat(spool).st_size
        record = encode(head, payload)
        if length + len(record) > SPOOL_BYTES:
            record = encode(head, None)
        if length + len(record) > SPOOL_BYTES + SPOOL_SLACK_BYTES:
            return
        if os.write(spool, record) < len(record):
            os.ftruncate(spool, length)
    finally:
        os.close(spool)


def _ancestors() -> list[int]:
    """This process's ancestors, the nearest first, as far as the system says it."""
    found = [os.getppid()]
    try:
        while len(found) < ANCESTORS and found[-1] > 1:
            handle = os.open(f"/proc/{found[-1]}/stat", os.O_RDONLY)
            try:
                line = os.read(handle, 1024)
            finally:
                os.close(handle)
            found.append(int(line[line.rindex(b")") + 2 :].split()[1]))
    except (OSError, ValueError):
        pass
    return found


if __name__ == "__main__":
    status = os.EX_OK
    try:
        main(sys.argv)
    except BaseException:  # noqa: BLE001 - a hook must never break its harness
        status = os.EX_OK
    os._exit(status)
