"""What pyproject.toml cannot say: the wheel carries the top-level ``templates`` and ``static``.

They lie inside the package there, where ``memorywire_site/environment.py`` finds them.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithPages(build_py):
    """Copies both folders whole, so that a new file needs no entry anywhere."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return  # the source tree is used as it is
        for name in ("templates", "static"):
            target = Path(self.build_lib) / "memorywire_site" / name
            # An earlier build may have left files that are gone since.
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(name, target)


setup(cmdclass={"build_py": BuildWithPages})
