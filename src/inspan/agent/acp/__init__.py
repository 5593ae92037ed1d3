"""The agent as an ACP server on stdin and stdout."""
