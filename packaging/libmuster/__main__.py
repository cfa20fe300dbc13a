"""Prints where libmuster is: `python -m libmuster` for CMAKE_PREFIX_PATH, `python -m libmuster --pkg-config` for PKG_CONFIG_PATH."""
import sys

from . import pkg_config_path, prefix

if sys.argv[1:] not in ([], ["--pkg-config"]):
    sys.exit("usage: python -m libmuster [--pkg-config]")
print(pkg_config_path if sys.argv[1:] else prefix)
