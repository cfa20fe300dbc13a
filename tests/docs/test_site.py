"""The documentation site that tools/site builds: complete, without dead links, and whole without a network."""
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from tests.docs.pages import ROOT
from tests.waiting import patient

BUILD = ROOT / "tools/site"
EXTERNAL = re.compile(r"(?:[a-z+]+:)?//|https?:", re.I)
INLINE = ("data:", "#", "javascript:void(0)")


def build(tool, directory):
    return subprocess.run([tool, directory], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(60))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    directory = tmp_path_factory.mktemp("site")
    done = build(BUILD, directory)
    assert done.returncode == 0, done.stderr
    return directory


class Page(HTMLParser):
    """Collects what a page loads, where its links lead, its anchors, and the code in its text."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.names, self.codes, self._in_code = [], [], set(), [], False
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.names |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif tag != "a":
            self.loads += [found[key] for key in ("src", "href", "srcset", "data", "poster", "action") if found.get(key)]
        self.loads += re.findall(r"url\(['\"]?([^'\")]+)", found.get("style") or "")
        if tag == "code":
            self.codes.append("")
            self._in_code = True

    def handle_endtag(self, tag):
        if tag == "code":
            self._in_code = False

    def handle_data(self, data):
        if self._in_code:
            self.codes[-1] += data


@pytest.fixture(scope="module")
def html(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_page_is_there_and_can_be_found(site):
    written = sorted(path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md"))
    assert len(written) > 90
    found = {urlsplit(entry["location"]).path for entry in json.loads((site / "search/search_index.json").read_text())["docs"]}
    for page in written:
        address = {"README.md": "contents.html"}.get(str(page)) or str(page.with_name("index.html") if page.name == "README.md" else page.with_suffix(".html"))
        assert (site / address).is_file() and address in found, page
    assert {"security.html", "contributing.html", "architecture.html", "changelog.html", "examples.html"} <= found


def test_no_link_is_dead(site, html):
    """Checks the links of the pages as they were built, independently of MkDocs' own checks."""
    wrong, seen = [], 0
    for path, page in html.items():
        if path.name == "404.html":
            continue  # its links begin at the root of a server
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            seen += 1
            if not target.is_file() or (parts.fragment and target in html and unquote(parts.fragment) not in html[target].names):
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert seen > 5000 and not wrong


def test_a_link_to_a_source_file_is_its_path(html, site):
    page = html[site / "guides/message-passing.html"]
    assert "examples/python/any_launcher.py" in page.codes
    assert not [link for link in page.links if "any_launcher" in link]


def test_code_in_a_table_is_as_on_github(html, site):
    assert "muster completion fish | source" in html[site / "habits.html"].codes


def test_a_list_is_a_list(site):
    """The site's Markdown requires an empty line before a list, and GitHub's does not. No list may end up inside a paragraph."""
    pages = {path: path.read_text() for path in site.rglob("*.html")}
    assert not [str(path) for path, text in pages.items() if re.search(r"<p>[^<]*(?:<(?!/p>)[^<]*)*\n\s*[-*] ", re.sub(r"<pre.*?</pre>", "", text, flags=re.S))]


def test_nothing_is_loaded_from_elsewhere(site, html):
    assert len(html) > 90
    loaded = {(path.name, one) for path, page in html.items() for one in page.loads}
    for style in site.rglob("*.css"):
        text = style.read_text()
        loaded |= {(style.name, one) for one in re.findall(r"url\(['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", text) for one in one if one}
    for picture in site.rglob("*.svg"):
        loaded |= {(picture.name, one) for one in re.findall(r"""(?:href|src)=["']([^"']+)""", picture.read_text())}
    assert len(loaded) > 100
    assert not [one for one in loaded if EXTERNAL.match(one[1]) and not one[1].startswith(INLINE)]


PROBE = """<img src="http://elsewhere.invalid/probe.png">
<script>setTimeout(() => document.body.append("LOADED " + performance.getEntriesByType("resource").map((one) => one.name).join(" ") + " END"), 5000)</script>"""


def seen_by_a_browser(url, folder):
    """Returns the page after a browser has run its scripts, in a network namespace in which not even loopback is up."""
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    done = subprocess.run([*alone, "chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'browser'}", "--virtual-time-budget=20000",
                           "--dump-dom", url], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(60))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_search_works_on_a_file_without_a_network(site, tmp_path):
    """Opens the page as a file, without a server and without a Worker. It tries to load nothing from elsewhere but PROBE's picture."""
    probe = site / "probe.html"
    probe.write_text((site / "hosts.html").read_text().replace("</body>", PROBE + "</body>"))
    shown = seen_by_a_browser(f"{probe.as_uri()}?q=memlock", tmp_path)
    probe.unlink()
    results = re.findall(r'<a href="([^"]*)" class="md-search-result__link"', shown)
    assert any(urlsplit(one).path.endswith("/lab.html") for one in results), shown[-2000:]
    loaded = re.findall(r"LOADED (.*?) END", shown)[-1].split()
    assert [one for one in loaded if not one.startswith(("file:", "data:"))] == ["http://elsewhere.invalid/probe.png"]


@pytest.fixture
def copy(tmp_path):
    """A copy of the repository, as far as the site needs it. A test may change its docs and tools."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for entry in ROOT.iterdir():
        if entry.name in ("docs", "tools"):
            shutil.copytree(entry, tree / entry.name)
        elif entry.name == "mkdocs.yml" or entry.suffix == ".md":
            shutil.copy(entry, tree)
        elif entry.name not in ("build", ".git"):
            (tree / entry.name).symlink_to(entry)
    return tree


def test_a_mistake_makes_the_build_fail(copy, tmp_path):
    with (copy / "docs/hosts.md").open("a") as page:
        page.write("\n[a](nowhere.md) [b](../src/nowhere.cpp) [c](run.md#nowhere) [d](#nowhere-either)\n")
    (copy / "docs/new.md").write_text("# A page that nobody finds\n")
    (copy / "docs/results/more").mkdir()
    (copy / "docs/results/more/new.md").write_text("# A page in a folder that stands for its pages\n")
    done = build(copy / "tools/site", tmp_path / "site")
    assert done.returncode == 1
    for what in ("'nowhere.md'", "'../src/nowhere.cpp'", "'run.md#nowhere'", "'#nowhere-either'", "docs/new.md"):
        assert what in done.stderr, done.stderr
    assert "Aborted with 5 warnings" in done.stdout


def test_other_files_are_not_replaced(tmp_path):
    (tmp_path / "precious").write_text("mine")
    done = build(BUILD, tmp_path)
    assert done.returncode == 1 and "is no site" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
    assert build(BUILD, "--help").returncode == 2
