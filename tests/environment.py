"""Loaded before Django's settings: a data folder of the test run's own."""

import atexit
import os
import shutil
import tempfile

_home = tempfile.mkdtemp(prefix="memorywire-test-")
atexit.register(shutil.rmtree, _home, ignore_errors=True)

for name in [name for name in os.environ if name.startswith("MEMORYWIRE_")]:
    del os.environ[name]  # a developer's own settings must not colour the tests
os.environ["MEMORYWIRE_HOME"] = _home
os.environ["MEMORYWIRE_LOG_LEVEL"] = "WARNING"
