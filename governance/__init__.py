"""The governance server: the one Django app. Start with ``memory.py``, the front door."""
