"""Model files that come as installed Python packages, found without importing them.

Some of those packages import torch when they are imported; all we want is a file beside their
code.
"""

from importlib.util import find_spec
from pathlib import Path

from stores.errors import MissingExtra


def require(module: str, *, hint: str) -> None:
    """Checks that a top-level module is installed, without importing it.

    Raises: MissingExtra with the hint, which says what to install.
    """
    if find_spec(module) is None:
        raise MissingExtra(f"The package {module!r} is not installed: {hint}.")


def package_folder(module: str, *, hint: str) -> Path:
    """The folder a package is installed in.

    Raises: MissingExtra with the hint if it is not installed.
    """
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(f"The package {module!r} is not installed: {hint}.")
    return Path(spec.submodule_search_locations[0])
