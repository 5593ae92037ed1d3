"""The loop of requests and calls, behind a seam; one module of it knows the model library."""
