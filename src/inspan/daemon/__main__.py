"""`python -m inspan.daemon`: stop signals first, then everything that takes time to load."""

from inspan.daemon.interrupts import Interrupts


def main() -> int:
    """Runs the daemon and gives its exit status."""
    interrupts = Interrupts()
    interrupts.install()
    from inspan.daemon.main import run

    return run(interrupts)


if __name__ == "__main__":
    raise SystemExit(main())
