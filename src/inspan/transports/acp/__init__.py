"""The `acp` transport: version 1 of the Agent Client Protocol, JSON-RPC 2.0 with one message a line."""

from .machine import AcpMachine

__all__ = ["AcpMachine"]
