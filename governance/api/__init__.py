"""The HTTP API for agents: thin endpoints that parse, call one function and map the outcome."""
