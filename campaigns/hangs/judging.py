"""Compares the output of `muster why` with the truth of a case, as far as a program can decide it. README.md has the
rules."""
import re
from pathlib import Path

# muster's names of kinds that differ from those in the cases, or that mean the same as one.
KINDS = {"different-sizes": "different-sizes-or-types", "host-silent": "no-transport-progress"}


def layout(case):
    """Returns [(host, its ranks)], with consecutive ranks on each host."""
    each, more = divmod(case["ranks"], case["hosts"])
    blocks, first = [], 0
    for number in range(case["hosts"]):
        count = each + (number < more)
        blocks.append((f"n{number + 1}", list(range(first, first + count))))
        first += count
    return blocks


def as_list(value):
    return value if isinstance(value, list) else [value]


def names_of_all(ranks):
    """Returns whether the verdict is right if no single rank is guilty: it may name none or several, but not exactly one."""
    return len(ranks) != 1


def right_rank(case, verdict):
    truth, ranks, hosts = case["truth"], set(verdict["ranks"]), set(verdict["hosts"])
    for field in ("rank", "also_right_rank"):
        if field not in truth:
            continue
        if truth[field] == "all":
            if names_of_all(ranks):
                return True
        elif ranks and ranks <= set(as_list(truth[field])):
            return True
    of_host = dict(layout(case))
    for places in ([truth["host"]] if "host" in truth else [], truth.get("link", [])):
        there = {rank for host in places for rank in of_host[host]}
        if places and (ranks == there or (hosts == set(places) and ranks <= there)):
            return True
    return False


def right_kind(case, verdict):
    kind = KINDS.get(verdict["kind"], verdict["kind"])
    return kind in [case["truth"]["kind"], *case["truth"].get("also_right", [])]


def where_seen(case, verdict, screen):
    """Returns where the text names the function or the line: "verdict" or "evidence"; "no" if nowhere; "" if the case has no
    such truth. "?" means that it is not there, but a compiler may have inlined the function, so a reader must decide."""
    where = case.get("truth", {}).get("where")
    if not where:
        return ""
    name = re.escape(Path(where["file"]).name)
    place = re.compile(rf"\b{re.escape(where['function'])}\b|{name}:{where['line']}\b")
    said = "\n".join([verdict["headline"], *verdict["details"]])
    return "verdict" if place.search(said) else "evidence" if place.search(screen) else "no" if case["language"] == "python" else "?"


def judge(case, verdict, code):
    """Returns ("right" or "wrong", why) for a case that took place. `code` is the exit code of a healthy run."""
    if "truth" not in case:
        wrong = (["it accuses somebody"] if verdict["hang"] else []) + ([f"the run ended with exit code {code}"] if code != 0 else [])
    elif not verdict["hang"]:
        wrong = ["it accuses nobody"]
    else:
        wrong = ([] if right_rank(case, verdict) else ["rank"]) + ([] if right_kind(case, verdict) else ["kind"])
    return ("wrong" if wrong else "right"), ", ".join(wrong)


def truth_text(case):
    truth = case.get("truth")
    if truth is None:
        return "healthy"
    names = [f"rank {truth['rank']}"] if "rank" in truth else []
    names += [f"host {truth['host']}"] if "host" in truth else []
    names += [f"link {'-'.join(truth['link'])}"] if "link" in truth else []
    return f"{truth['kind']}, {' '.join(names)}"


def verdict_text(verdict):
    if verdict is None:
        return "-"
    named = f"ranks {verdict['ranks']}" if verdict["ranks"] else f"hosts {verdict['hosts']}" if verdict["hosts"] else "nobody"
    return f"{verdict['kind']}, {named}{'' if verdict['hang'] else ' (no hang)'}"
