import pytest
from tests.tools.planted import write


@pytest.fixture
def tree(tmp_path, request):
    """The files of the test's own TREE, without a fault."""
    for name, text in request.module.TREE.items():
        write(tmp_path, name, text)
    return tmp_path
