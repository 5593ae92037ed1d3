"""Runtime plugins: their contract, their host, their configuration, and the built-in ones."""
