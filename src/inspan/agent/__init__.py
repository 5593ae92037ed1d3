"""Inspan's own agent: a real agent loop that is a harness like any other, and the plugins that extend it."""
