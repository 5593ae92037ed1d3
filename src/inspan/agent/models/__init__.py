"""The models that can be chosen, and the scripted one that needs nothing."""
