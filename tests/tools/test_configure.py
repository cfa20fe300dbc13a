"""The output of a plain `cmake -B build -G Ninja` about the parts that it leaves out."""
import os
import subprocess

import pytest
from tests.waiting import patient


@pytest.fixture
def configure(root, tmp_path):
    """Yields configure("-DNAME=value"), which runs as on a machine where tools/install_deps has
    installed no PyTorch."""

    def run(*words):
        return subprocess.run(["cmake", "-S", root, "-B", tmp_path / "build", "-G", "Ninja", *words], env={**os.environ, "MUSTER_DEPS": str(tmp_path / "deps")},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(60))

    return run


def test_without_pytorch_it_says_so_in_a_line_and_builds_the_command(configure, tmp_path):
    done = configure()
    assert done.returncode == 0, done.stderr
    assert f"-- Without libmuster, the C++ training library: there is no PyTorch in {tmp_path}/deps/torch; run tools/install_deps --training, or " in done.stdout
    targets = subprocess.run(["ninja", "-C", tmp_path / "build", "-t", "targets", "all"], capture_output=True, text=True, check=True, timeout=patient(30)).stdout
    assert "bin/muster:" in targets
    own = targets.replace(str(tmp_path), "")  # this test's path also contains "_test"
    assert "_test" not in own and "torch" not in own
    done = configure("-DMUSTER_TRAINING=ON")
    assert done.returncode != 0
    assert f"MUSTER_TRAINING=ON: there is no PyTorch in {tmp_path}/deps/torch; run tools/install_deps --training, or " in done.stderr


def test_a_cuda_build_needs_no_toolkit_and_nccl_names_its_headers(configure, tmp_path):
    """A folder with only the files that CMake checks stands in for PyTorch. campaigns/bare_build builds with the real one."""
    files = {"torch/include/torch/headeronly/version.h": "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 13\n#define TORCH_VERSION_PATCH 0\n",
             "torch/include/gloo/types.h": "", "torch/lib/libtorch_cuda.so": "", "nvidia_cuda_runtime-13.0.96.dist-info/METADATA": ""}
    for name, text in files.items():
        path = tmp_path / "site-packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = configure(f"-DMUSTER_TORCH={tmp_path}/site-packages/torch")
    assert done.returncode == 0, done.stderr
    assert f"-- With libmuster, for PyTorch 2.13.0 in {tmp_path}/site-packages/torch\n" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if "NCCL" in line]
    assert line.startswith("-- Without NCCL: PyTorch has it, but CUDA's headers nccl.h")
    assert line.endswith("pip install 'nvidia-cuda-crt==13.0.*' 'nvidia-cuda-cccl==13.0.*'")
