"""The code blocks of README.md and docs/. Each is run by a test, or has a mark with the reason why not."""
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(page for folder in ("docs", "docs/guides", "docs/from") for page in sorted((ROOT / folder).glob("*.md")))]
MARK = re.compile(r"<!-- not run: (.+) -->\n+\Z")

taken = set()


class Block:
    """A code block. `lines` have no indentation, and no comments after commands."""

    def __init__(self, page, before, text):
        mark = MARK.search(before)
        self.page, self.reason = page, mark and mark[1]
        self.lines = [re.sub(r"  +# .*", "", line[4:]) for line in text.splitlines()]
        self.name = f"{page}: {self.lines[0]}"


def _blocks(path):
    text = path.read_text()
    for found in re.finditer(r"(?:^    .*\n)(?:\n*^    .*\n)*", text, re.M):
        yield Block(str(path.relative_to(ROOT)), text[:found.start()], found[0])


BLOCKS = [block for path in PAGES for block in _blocks(path)]


def take(page, first):
    """Returns the lines of the block of `page` whose first line is `first` or begins with it. Test files take blocks on import and then
    run them or check what they show."""
    found = [block for block in BLOCKS if block.page == page and block.lines[0].startswith(first)]
    found = [block for block in found if block.lines[0] == first] or found
    assert len(found) == 1, f"{page} has {len(found)} blocks that begin with: {first}"
    taken.add(found[0].name)
    return found[0].lines


def with_other(line, pattern, replacement):
    """Returns the line with the only match of the pattern replaced, for example with a smaller number or another name."""
    changed, count = re.subn(pattern, replacement, line)
    assert count == 1, f"'{pattern}' is {count} times in: {line}"
    return changed
