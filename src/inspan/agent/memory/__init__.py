"""Memory: notes that outlive a session, as files of the agent's home."""
