"""The page of an app: plain files that any browser shows, and the few lines that serve them."""

__all__: list[str] = []
