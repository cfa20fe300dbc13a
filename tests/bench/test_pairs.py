"""`muster bench pairs` names the slow host and the bad link, and no other host."""
import random

import pytest

pytestmark = pytest.mark.lab


# Only campaigns/pairs runs this measurement, because on a busy machine healthy links are slow too.
@pytest.mark.campaign
@pytest.mark.alone
@pytest.mark.parametrize("seed", range(1, 21))
def test_the_slow_host_and_the_bad_link_are_named(eight, seed):
    """Of eight hosts at 50 Mbit/s, one has a tenth of that, and two others lose frames between them. Only these are named."""
    one, other, slow = random.Random(seed).sample(eight.lab.hosts, 3)
    eight.link("n[1-8]", "--rate", "50mbit")
    eight.link(slow, "--rate", "5mbit")
    eight.link(one, "--rate", "50mbit", "--loss", "5%", "--between", other)
    results = eight.results("pairs", "--seconds", "0.1", "--expect", "50mbit", code=3)
    named = {tuple(sorted(suspect["hosts"])): suspect["what"] for suspect in results["suspects"] if suspect["confirmed"] and suspect["aspect"] != "latency"}
    link = tuple(sorted([one, other]))
    others = set(named) - {(slow,), link}
    assert {(slow,), link} <= named.keys() and not others, "\n".join(f"{one['hosts']} {one['aspect']} confirmed={one['confirmed']}: {one['what']}" for one in results["suspects"])
    assert "is slow with all hosts" in named[slow,] and "loses frames" in named[link], named
    assert len([pair for pair in results["pairs"] if not pair["again"]]) == 28
