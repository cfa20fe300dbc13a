"""A lab whose launcher may log in to every host, prepared without muster's own setup."""
import pytest


@pytest.fixture
def open_lab(lab_up):
    """Makes a lab of three hosts that the launcher reaches by ssh."""
    lab = lab_up(hosts=3)
    lab.open_doors()
    return lab
