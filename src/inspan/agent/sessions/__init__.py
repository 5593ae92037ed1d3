"""Conversations on disk: kept as they happen, resumed, listed, forked and made shorter."""
