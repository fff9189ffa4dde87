"""Figures and campaigns. Nothing here is imported by the server."""
