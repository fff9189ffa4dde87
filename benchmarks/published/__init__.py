"""What the published conformance suite needs to drive our server. Runs in the peer's venv."""
