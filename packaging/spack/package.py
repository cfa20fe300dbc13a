# A recipe for Spack. `tools/release` fills in the version and the SHA-256 of the source package, and writes it beside that package.
# Spack's own repository has another package named muster, so this one is muster-cli.
from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class MusterCli(CMakePackage):
    """Checks machines, launches distributed PyTorch jobs on them, watches them, and says what
    went wrong."""

    # Nothing is published yet: name the folder that has the source package.
    url = "file:///path/to/muster-@VERSION@.tar.gz"

    license("Apache-2.0")

    version("@VERSION@", sha256="@SHA256@")

    generator("ninja")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("cli11@2:")
    depends_on("fmt@9")
    depends_on("nlohmann-json@3.11:")
    depends_on("yaml-cpp@0.7:")
    depends_on("tl-expected")
    depends_on("libuv@1.44:")
    depends_on("libxcrypt")
    depends_on("xxhash@0.8.1:")
    depends_on("re2@:2023-03-01")  # later versions need Abseil, which muster does not link
    depends_on("openssh", type="run")

    requires("platform=linux")
    conflicts("%gcc@:11", msg="muster needs C++20; the oldest GCC that it was built with is 12")

    def cmake_args(self):
        # Few systems with Spack have libc.a, so the binary is linked dynamically. It runs on hosts
        # that have the same Spack tree.
        return [self.define("MUSTER_TRAINING", "OFF"), self.define("MUSTER_STATIC", False)]

    @run_after("install")
    def says_its_version(self):
        Executable(self.prefix.bin.muster)("--version")
