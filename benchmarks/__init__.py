"""Benchmarks: one question a file, peer and ours in the same run, and a ratio as the answer.

`python -m benchmarks` from a checkout runs them all; `python -m benchmarks NAME ... --json FILE` some, and
keeps the figures. `tools/render_benchmarks.py` makes docs/benchmarks.md of such a file.
"""
