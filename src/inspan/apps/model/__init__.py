"""What an app is: its manifest, fields, operations and modules, and the pure rules over them. No I/O but `read_app`."""

__all__: list[str] = []
