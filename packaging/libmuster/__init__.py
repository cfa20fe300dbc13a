"""libmuster: headers, a shared library and a CMake package for C++ programs. Nothing here is for import by Python programs."""
from pathlib import Path

prefix = Path(__file__).resolve().parent  # for CMAKE_PREFIX_PATH
pkg_config_path = prefix / "lib" / "pkgconfig"
