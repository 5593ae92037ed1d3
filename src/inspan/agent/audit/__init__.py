"""What observers are told of permissions and calls, and how it reaches them."""
