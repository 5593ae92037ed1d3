"""`python -m inspan`: the program, where it is not on the PATH."""

from inspan.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
