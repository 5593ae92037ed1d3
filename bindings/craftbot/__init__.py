"""Agent Apps in CraftBot. Importing `actions` and calling `register_actions()` registers the tools."""
