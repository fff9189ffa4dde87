"""Memory stores as a plain library: no Django, no Celery, usable alone.

Start with ``stores.wire`` (what travels), ``stores.protocol`` (what a store is) and
``stores.records`` (the five operations over any replica).
"""
