"""The reference implementation's own conformance suite, run unchanged against this server."""
