"""Serving: a plugin in a process of its own, on standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec

from inspan.model.errors import PluginError

from .context import PluginContext, make_context
from .contract import METHODS, PROTOCOL_VERSION, HarnessPlugin, MethodSpec, Unsupported
from .manifest_file import load_manifest
from .wire import (
    CANCEL_METHOD,
    INITIALIZE_METHOD,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    FrameTooLarge,
    InitializeParams,
    InitializeResult,
    LineDecoder,
    Message,
    PluginInfo,
    encode_message,
    incompatible,
    rpc_error,
)

__all__ = ["serve"]

_READ_BYTES = 64 * 1024


def serve(make: Callable[[PluginContext], HarnessPlugin], folder: Path | None = None) -> int:
    """Serves the plugin that `make` gives until the standard input ends.

    What the plugin, or a program that it starts, prints goes to the standard error, so that it cannot break
    the wire. Requests run at the same time; each can be cancelled by the host.

    Args:
        make: Makes the plugin from its context, such as its class.
        folder: The harness's folder, for a host that sends no context; the working directory by default.

    Returns:
        The exit status: 0 at the end of input, 1 after a frame that was over the cap.
    """
    wire_in, wire_out = _take_wire()
    with wire_in, wire_out:
        return asyncio.run(_Server(make, folder or Path.cwd(), wire_out).run(wire_in))


def _take_wire() -> tuple[BinaryIO, BinaryIO]:
    """Moves the wire away from descriptors 0 and 1, where prints and children would meet it."""
    sys.stdout.flush()
    wire_in, wire_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(wire_in, "rb", buffering=0), os.fdopen(wire_out, "wb", buffering=0)


class _Server:
    def __init__(
        self, make: Callable[[PluginContext], HarnessPlugin], folder: Path, wire_out: BinaryIO
    ) -> None:
        self._make = make
        self._folder = folder
        self._out = wire_out
        self._plugin: HarnessPlugin | None = None
        self._running: dict[int | str, asyncio.Task[None]] = {}

    async def run(self, wire_in: BinaryIO) -> int:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), wire_in)
        try:
            async with asyncio.TaskGroup() as tasks:
                status = await self._receive_all(reader, tasks)
                for task in self._running.values():
                    task.cancel()
        finally:
            transport.close()
        return status

    async def _receive_all(self, reader: asyncio.StreamReader, tasks: asyncio.TaskGroup) -> int:
        decoder = LineDecoder()
        while data := await reader.read(_READ_BYTES):
            try:
                lines = decoder.feed(data)
            except FrameTooLarge as error:
                print(f"inspan.plugin: {error}", file=sys.stderr)
                return 1
            for line in lines:
                self._receive(line, tasks)
        return 0

    def _receive(self, line: bytes, tasks: asyncio.TaskGroup) -> None:
        try:
            message = msgspec.json.decode(line, type=Message)
        except msgspec.MsgspecError as error:
            fault = PluginError(f"The message cannot be read: {error}.")
            self._send(Message(error=rpc_error(fault, code=PARSE_ERROR)))
            return
        if message.method == CANCEL_METHOD:
            self._cancel(message)
        elif message.method is not None and message.id is not None:
            task = tasks.create_task(self._answer(message.id, message))
            self._running[message.id] = task
            task.add_done_callback(lambda _, key=message.id: self._running.pop(key, None))

    def _cancel(self, message: Message) -> None:
        wanted = msgspec.json.decode(message.params or b"{}", type=dict[str, int | str])
        if (task := self._running.get(wanted.get("id", ""))) is not None:
            task.cancel()

    async def _answer(self, key: int | str, message: Message) -> None:
        try:
            result = await self._call(message)
        except asyncio.CancelledError:
            cancelled = PluginError("The request was cancelled.", code="plugin_timeout")
            self._send(Message(id=key, error=rpc_error(cancelled)))
            raise
        except _UnknownMethod as error:
            self._send(Message(id=key, error=rpc_error(Unsupported(str(error)), code=METHOD_NOT_FOUND)))
        except msgspec.MsgspecError as error:
            fault = PluginError(f"The parameters of {message.method} are wrong: {error}.")
            self._send(Message(id=key, error=rpc_error(fault, code=INVALID_PARAMS)))
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is an answer
            if rpc_error(error).data["code"] == "plugin_failed":
                traceback.print_exc()
            self._send(Message(id=key, error=rpc_error(error)))
        else:
            self._send(Message(id=key, result=msgspec.Raw(msgspec.json.encode(result))))

    async def _call(self, message: Message) -> msgspec.Struct:
        method = message.method or ""
        params = message.params or b"{}"
        if method == INITIALIZE_METHOD:
            return await self._initialize(msgspec.json.decode(params, type=InitializeParams))
        if self._plugin is None:
            raise PluginError("The first request must be initialize.", code="plugin_incompatible")
        spec: MethodSpec | None = METHODS.get(method)
        if spec is None:
            raise _UnknownMethod(f"This version of the protocol has no operation {method!r}.")
        return await getattr(self._plugin, method)(msgspec.json.decode(params, type=spec.params))

    async def _initialize(self, params: InitializeParams) -> InitializeResult:
        if params.protocol != PROTOCOL_VERSION:
            raise incompatible(params.protocol, subject="The host")
        context = params.context or self._own_context()
        plugin = self._make(context)
        await plugin.initialize()
        self._plugin = plugin
        return InitializeResult(
            protocol=PROTOCOL_VERSION,
            plugin=PluginInfo(name=plugin.name or context.manifest.id, version=plugin.version),
            methods=plugin.methods(),
            why_unsupported={
                name: why for name, why in plugin.why_unsupported.items() if name not in plugin.methods()
            },
        )

    def _own_context(self) -> PluginContext:
        folder = str(self._folder.resolve())
        manifest = load_manifest(self._folder)
        return make_context(manifest, folder=folder, data_folder=folder, environ=os.environ)

    def _send(self, message: Message) -> None:
        # A blocking write: answers are small, and a host that does not read has given up on us anyway.
        view = memoryview(encode_message(message))
        while view:
            view = view[self._out.write(view) :]


class _UnknownMethod(Exception):
    pass
