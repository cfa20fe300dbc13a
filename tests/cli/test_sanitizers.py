"""If muster is built with sanitisers, their reports are kept, including those from hosts. CI's user-level tests with sanitisers rely on this."""
import os
import subprocess

import pytest
from tests.conftest import is_sanitized, take_sanitizer_logs
from tests.waiting import patient

pytestmark = [pytest.mark.lab, pytest.mark.smoke, pytest.mark.alone]  # a test running at the same time would be blamed
PROVOKED = {"MUSTER_PROVOKE_FAULT": "1"}


@pytest.fixture
def sanitized(muster, sanitizer_logs):
    if not is_sanitized(muster):
        pytest.skip("this muster is built without sanitisers")
    assert take_sanitizer_logs() == ""
    return muster


def test_a_fault_is_noticed_here(sanitized):
    done = subprocess.run([sanitized, "--version"], env={**os.environ, **PROVOKED}, capture_output=True, timeout=patient(60))
    assert done.returncode != 0 and "heap-buffer-overflow" in take_sanitizer_logs()


def test_a_fault_is_noticed_on_a_host(sanitized, lab_up):
    lab = lab_up(hosts=1)
    assert lab.exec("n1", "env", *(f"{name}={value}" for name, value in PROVOKED.items()), lab.binary_on_hosts, "--version").returncode != 0
    assert "heap-buffer-overflow" in take_sanitizer_logs()
