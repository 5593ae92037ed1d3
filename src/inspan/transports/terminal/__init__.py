"""Terminals: a harness's own console on a pty of its own, seen through an emulator that answers as a terminal does.

A `Screen` turns bytes into what a person would see and into the answers that the program expects. What is seen
becomes claims (`program_status`, `status_records`, `evaluating`), and `arbitration` says which of them is
believed. Nothing here reads a file, holds a clock or knows a harness; the emulators are imported when the first
screen is opened.
"""
