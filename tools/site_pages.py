"""A hook of MkDocs: turns the repository's Markdown files, unchanged, into the pages of the site.

A page keeps its path in the repository, so that links between pages mean the same here and there. mkdocs.yml says which pages there are:
all of docs/, and those elsewhere that `nav` names. A link to any other file of the repository becomes plain text with the file's path,
since readers of the site may have no repository at hand. A link to a file that does not exist stays, and MkDocs reports it.
"""
import posixpath
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import SubElement

from markdown import Extension
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
# A README.md is the first page of its folder. These two folders have no entry of their own in the navigation.
ADDRESSES = {"docs/README.md": "contents.html", "examples/README.md": "examples.html"}


def address(path):
    """Returns a file's path on the site: that in the repository without the folder docs, and as .html in lower case if it is a page."""
    if path in ADDRESSES:
        return ADDRESSES[path]
    path = path.removeprefix("docs/")
    if not path.endswith(".md"):
        return path
    folder, name = posixpath.split(path)
    return posixpath.join(folder, "index.html" if name == "README.md" else name.lower().removesuffix(".md") + ".html")


def title_of(folder):
    """Returns the heading of the folder's README.md, or else the folder's name."""
    page = folder / "README.md"
    heading = re.search(r"^# (.+)", page.read_text(encoding="utf-8"), flags=re.M) if page.is_file() else None
    return heading[1] if heading else folder.name.capitalize()


def pages_of(folder):
    """Returns the folder's pages: README.md first, then the others by name, then each folder in it as a section."""
    pages = sorted((ROOT / folder).glob("*.md"), key=lambda page: (page.name != "README.md", page.name))
    sections = sorted({page.parent for page in (ROOT / folder).glob("*/*.md")})
    return [str(page.relative_to(ROOT)) for page in pages] + [{title_of(section): pages_of(section)} for section in sections]


def expanded(entries):
    """Returns a list of `nav` with each folder replaced with its pages: as a section if the entry has a title, otherwise one by one."""
    made = []
    for entry in entries:
        if isinstance(entry, dict):
            (title, content), = entry.items()
            made.append({title: expanded(content) if isinstance(content, list) else pages_of(content) if content.endswith("/") else content})
        else:
            made += pages_of(entry) if entry.endswith("/") else [entry]
    return made


def named_pages(nav):
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from named_pages(entry)


def let_words_break(code):
    """Lets flags stay whole (site.css), and paths and names break behind / and _. Without this, browsers break a line behind any
    hyphen and nowhere else in a word."""
    if len(code):
        return
    parts = re.split(r"(?<!\S)(\S*-\S*)(?!\S)|(?<=[/_])(?=\w)", code.text or "")
    code.text = AtomicString(parts[0])
    for flag, after in zip(parts[1::2], parts[2::2]):
        if flag is None:
            made = SubElement(code, "wbr")
        else:
            made = SubElement(code, "span", {"class": "whole"} if len(flag) <= 30 else {})
            made.text = AtomicString(flag)
        made.tail = AtomicString(after)


class RepositoryText(Treeprocessor):
    """Changes what GitHub would show differently, and links to files that are not on the site."""

    def __init__(self):
        super().__init__()
        self.page, self.files = "", None

    def run(self, root):
        for link in list(root.iter("a")):
            self.without_repository(link)
        for cell in (*root.iter("td"), *root.iter("th")):
            for code in cell.iter("code"):
                code.text = (code.text or "").replace("\\|", "|")
        for text in (*root.iter("p"), *root.iter("li"), *root.iter("td")):
            for code in text.iter("code"):
                let_words_break(code)

    def without_repository(self, link):
        parts = urlsplit(link.get("href", ""))
        if parts.scheme or parts.netloc or not parts.path:
            return
        target = posixpath.normpath(posixpath.join(posixpath.dirname(self.page), unquote(parts.path)))
        if target.startswith("..") or self.files.get_file_from_path(target) or not (ROOT / target).exists():
            return
        said = "".join(link.itertext())
        link.tag, link.attrib = "span", {}
        if said.strip("`") in (target, posixpath.basename(target), target + "/"):
            for child in list(link):
                link.remove(child)
            link.text, code = None, SubElement(link, "code")
        else:
            if len(link):
                link[-1].tail = (link[-1].tail or "") + " ("
            else:
                link.text += " ("
            code = SubElement(link, "code")
            code.tail = ")"
        code.text = AtomicString(target)


class RepositoryPages(Extension):
    def __init__(self):
        super().__init__()
        self.text = RepositoryText()

    def extendMarkdown(self, md):
        md.treeprocessors.register(self.text, "repository_text", 5)  # before MkDocs looks at links, after inline code is known


pages = RepositoryPages()


def on_config(config):
    config.nav = expanded(config.nav)
    config.markdown_extensions.append(pages)
    return config


def on_files(files, config):
    def placed(path):
        file = File(path, str(ROOT), config.site_dir, config.use_directory_urls, dest_uri=address(path))
        file.name = Path(file.dest_uri).stem  # "index" opens when its section is chosen
        return file

    of_theme = [file for file in files if file.src_dir != config.docs_dir]
    of_docs = [placed(f"docs/{file.src_uri}") for file in files if file.src_dir == config.docs_dir]
    elsewhere = [placed(path) for path in named_pages(config.nav) if not path.startswith("docs/") and (ROOT / path).is_file()]
    pages.text.files = Files([*of_theme, *of_docs, *elsewhere])
    return pages.text.files


def on_nav(nav, config, files):
    nav.homepage = files.get_file_from_path("README.md").page  # MkDocs looks for it outside of sections only
    return nav


def on_page_markdown(markdown, page, config, files):
    pages.text.page = page.file.src_uri
    return markdown
