"""Loaded before Django's settings: a data folder of the test run's own.

``MEMORYWIRE_TEST_PROFILE=grown`` runs the tests on PostgreSQL and Redis, started for the run.
"""

import atexit
import os
import shutil
import tempfile

_home = tempfile.mkdtemp(prefix="memorywire-test-")
atexit.register(shutil.rmtree, _home, ignore_errors=True)

IS_GROWN = os.environ.get("MEMORYWIRE_TEST_PROFILE") == "grown"

for name in [name for name in os.environ if name.startswith("MEMORYWIRE_")]:
    del os.environ[name]  # a developer's own settings must not colour the tests
os.environ["MEMORYWIRE_HOME"] = _home
os.environ["MEMORYWIRE_LOG_LEVEL"] = "WARNING"

if IS_GROWN:
    from tests import servers

    os.environ["MEMORYWIRE_DATABASE_URL"] = servers.postgres().bound_role()
    os.environ["MEMORYWIRE_REDIS_URL"] = servers.redis().url
