import pytest
from tests.tools.planted import write


@pytest.fixture
def tree(tmp_path, request):
    """Writes the files of the test module's TREE, without a fault."""
    for name, text in request.module.TREE.items():
        write(tmp_path, name, text)
    return tmp_path
