"""What `muster bench show` makes of stored results: the text, and a page for a browser without a network.

The examples are invented, not measured: three backends with 26 sizes, eight hosts of which one sends slowly, and a
training.
"""
import json
import os
import struct
import subprocess
import zlib
from collections import Counter
from pathlib import Path

import html5lib
import pytest
from tests.waiting import patient

EXAMPLES = Path(__file__).parent / "examples"
KINDS = ["collectives", "pairs", "ddp"]
HOSTILE = "<script>alert(\"1\")</script><img src=x onerror=alert(2)>&amp;'"
WIDTH, HEIGHT = 900, 1400


def show(muster, *words):
    return subprocess.run([muster, "bench", "show", *map(str, words)], capture_output=True, text=True, timeout=patient(30),
                          stdin=subprocess.DEVNULL)


def page_of(muster, results, folder) -> Path:
    page = folder / "report.html"
    shown = show(muster, results, "--report", page)
    assert shown.returncode == 0, shown.stderr
    return page


def parsed(page: Path):
    """Parses strictly: invalid HTML5 raises an exception."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page.read_text(encoding="utf-8"))


def local(element) -> str:
    """Returns the tag without SVG's namespace."""
    return str(element.tag).rsplit("}", 1)[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_fits_a_terminal(muster, kind):
    shown = show(muster, EXAMPLES / f"{kind}.json")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert max(map(len, lines)) <= 110
    assert any(line and not line.startswith("#") for line in lines), "no line of numbers"


def test_gnuplot_and_awk_can_read_every_row(muster):
    rows = [line.split() for line in show(muster, EXAMPLES / "collectives.json").stdout.splitlines()
            if line and not line.startswith("#")]
    assert len(rows) == 3 * 26 + 3  # three backends, each with the sizes and a barrier
    assert {len(row) for row in rows} == {10}
    measured = json.loads((EXAMPLES / "collectives.json").read_text())["measurements"]
    fastest = max(m["busbw"] for m in measured) * 8 / 1e9
    assert max(float(row[4]) for row in rows if row[4] != "-") == pytest.approx(fastest, rel=0.005)


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_valid_and_needs_nothing_else(muster, tmp_path, kind):
    tree = parsed(page_of(muster, EXAMPLES / f"{kind}.json", tmp_path))
    assert tree.get("lang") == "en"
    for element in tree.iter():
        assert local(element) not in {"script", "link", "img", "iframe", "object", "embed", "base"}
        for name, value in element.items():
            assert not str(name).startswith("on") and name not in {"src", "href"}, (local(element), name)
            assert "://" not in value and "url(" not in value.replace("url(#", ""), value
    svgs = [element for element in tree.iter() if local(element) == "svg"]
    assert svgs and all(svg.get("role") == "img" and local(svg[0]) == "title" for svg in svgs)
    command = json.loads((EXAMPLES / f"{kind}.json").read_text())["command"]
    assert command in [element.text for element in tree.iter() if local(element) == "pre"]


def test_hostile_names_are_only_text(muster, tmp_path):
    results = json.loads((EXAMPLES / "pairs.json").read_text())
    text = json.dumps(results).replace("node06", json.dumps(HOSTILE)[1:-1])
    hostile = tmp_path / "hostile.json"
    hostile.write_text(text)
    tree = parsed(page_of(muster, hostile, tmp_path))
    assert not [element for element in tree.iter() if local(element) in {"script", "img"}]
    assert HOSTILE in [element.text for element in tree.iter() if local(element) == "td"]


def pixels(png: Path) -> Counter:
    """Counts how often each colour occurs. Browsers write 8 bits per channel."""
    data = png.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    channels = {2: 3, 6: 4}[kind]
    assert depth == 8
    packed, at = b"", 8
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if name == b"IDAT" else b""
        at += 12 + size
    raw, stride, before, colours = zlib.decompress(packed), width * channels, bytearray(width * channels), Counter()
    for row in range(height):
        start = row * (stride + 1)
        line = unfiltered(raw[start], bytearray(raw[start + 1:start + 1 + stride]), before, channels)
        colours.update(zip(*(line[c::channels] for c in range(3))))
        before = line
    return colours


def unfiltered(how: int, line: bytearray, above: bytearray, step: int) -> bytearray:
    """Decodes one row of a PNG, given the bytes to the left of and above each byte."""
    if how == 0:
        return line
    if how == 2:
        return bytearray((byte + up) & 255 for byte, up in zip(line, above))
    line, above = bytearray(step) + line, bytearray(step) + above
    for i in range(step, len(line)):
        left, up, corner = line[i - step], above[i], above[i - step]
        if how == 1:
            guess = left
        elif how == 3:
            guess = (left + up) // 2
        else:
            to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            guess = left if to_left <= to_up and to_left <= to_corner else up if to_up <= to_corner else corner
        line[i] = (line[i] + guess) & 255
    return line[step:]


def photograph(page: Path, folder: Path) -> Path:
    """Takes a screenshot with a browser in a network namespace without even loopback."""
    picture = folder / "page.png"
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    subprocess.run([*alone, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    f"--user-data-dir={folder / 'browser'}", f"--window-size={WIDTH},{HEIGHT}",
                    f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True, timeout=patient(60))
    return picture


# Colours that occur only in these elements: the curve of the backend mpi, the brightest cell of a heat map, and the
# tints of verdicts.
MPI, BRIGHTEST, PASSED, FAILED = (0xC4, 0x57, 0x0A), (0xFD, 0xE7, 0x25), (0xE9, 0xF7, 0xED), (0xFD, 0xEC, 0xEC)


@pytest.mark.parametrize("kind, there, missing", [("collectives", {PASSED: 10000, MPI: 300}, FAILED),
                                                  ("pairs", {FAILED: 10000, BRIGHTEST: 3000}, PASSED),
                                                  ("ddp", {PASSED: 10000, MPI: 200}, FAILED)])
def test_a_browser_without_network_shows_it(muster, tmp_path, kind, there, missing):
    colours = pixels(photograph(page_of(muster, EXAMPLES / f"{kind}.json", tmp_path), tmp_path))
    for colour, least in there.items():
        assert colours[colour] >= least, (colour, colours[colour])
    assert colours[missing] < 100
