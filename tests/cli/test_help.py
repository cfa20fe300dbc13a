"""Properties of all help texts and usage errors, for every command."""
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.waiting import patient

pytestmark = pytest.mark.smoke

WIDTH = 80


def run(muster, *words, **options):
    return subprocess.run([muster, *words], capture_output=True, text=True, timeout=patient(30), stdin=subprocess.DEVNULL, **options)


def sections(text):
    """Returns title and lines of each section of a help text."""
    return [(title, lines.splitlines()) for title, lines in re.findall(r"^([A-Z].*):\n((?:  .+\n)+)", text, flags=re.M)]


def lines_of(text, title):
    return [line for found, lines in sections(text) for line in lines if found == title]


def helps_from(muster, words):
    """Yields the help of this command and of all commands below it."""
    text = run(muster, *words, "--help").stdout
    yield tuple(words), text
    for title in ("Start here", "Commands", "More commands"):
        for line in lines_of(text, title):
            if name := re.match(r"  (\S+)", line):
                yield from helps_from(muster, [*words, name[1]])


@pytest.fixture(scope="module")
def helps(muster):
    """Returns {command: help text}, where a command is a tuple such as ("exec",) or ("lab", "up"); () is muster itself."""
    return dict(helps_from(muster, []))


def test_every_command_has_help(helps):
    assert ("lab", "up") in helps and ("logs",) in helps
    for words, text in helps.items():
        assert f"\nUsage: {' '.join(['muster', *words])} " in text, words
        assert re.search(r"^  -h, --help +\S", text, flags=re.M), words


def test_the_first_screen_is_short_and_leads_with_what_beginners_need(helps):
    lines = helps[()].splitlines()
    assert len(lines) <= 40
    assert [re.match(r"  (\S+)", line)[1] for line in lines_of(helps[()], "Start here")] == ["setup", "check", "run", "logs"]
    assert not set(re.findall(r"^  (\S+)", helps[()], flags=re.M)) & {"agent", "rank", "keeper", "engine"}


def test_help_fits_80_columns(helps):
    assert [(words, line) for words, text in helps.items() for line in text.splitlines() if len(line) > WIDTH] == []


def test_values_are_words(helps):
    for words, text in helps.items():
        assert not re.search(r"\b(TEXT|INT|UINT|FLOAT|BOOLEAN|REQUIRED|Needs|Excludes)\b| in \[", text), words
    assert re.search(r"--timeout SECONDS +\S", helps[("run",)])
    assert re.search(r"--hosts HOSTS +\S", helps[("run",)])


def test_every_flag_has_a_description(helps):
    for words, text in helps.items():
        lines = text.splitlines()
        for line, after in zip(lines, [*lines[1:], ""]):
            if re.match(r" {2,6}-", line):
                assert re.match(r" {2,6}-\S.*?  +\S", line) or re.match(r" {20,}\S", after), f"{words}: {line}"


def test_large_help_is_in_groups(helps):
    for words, text in helps.items():
        flags = {title: sum(line.lstrip().startswith("-") for line in lines) for title, lines in sections(text)}
        assert flags.get("Flags", 0) <= 10 and flags.get("Other flags", 0) <= 10, words


FLAG = re.compile(r"^ {2,6}(-\S(?:, --[\w-]+)?|--[\w-]+)(?: (\S+))?(?:  +|\n {20,})(\S.*(?:\n {20,}\S.*)*)", flags=re.M)


def flags_of(text):
    """Yields, for each flag of a help text, its names and its description, preceded by the word for its
    value."""
    for names, value, about in FLAG.findall(text):
        about = " ".join(about.split())
        also = re.search(r" \(also ([^)]*)\)", about)
        meaning = re.sub(r" \((also|off:) [^)]*\)| \(required\)| \[default: [^]]*\]", "", about)
        yield [*names.split(", "), *(also[1].split(", ") if also else [])], f"{value} {meaning}".strip()


# Flags whose descriptions differ between commands. Every description must contain the common meaning.
ONE_MEANING = {
    "--activate": "^LINES Shell commands that set up the environment on each host",
    "--dry-run": "without|Only print",
    "--force": "even if the checks found errors$|^Overwrite the files that muster wrote earlier",  # despite the findings
    "--fan-out": "^N Number of hosts .* at the same time$",
    "--json": "JSON",
    "--timeout": "^SECONDS .* (after this time|time to wait)",
    **dict.fromkeys(("-H", "--hosts", "--host"), "^HOSTS (Host names|Only the ranks on these hosts)"),
    **dict.fromkeys(("-N", "--nodes", "--nnodes"), "^N (Use only the first N hosts|Number of (hosts|pods))"),
    **dict.fromkeys(("--nproc-per-node", "--ppn", "--ntasks-per-node"), "^N Ranks (per host|in each pod)"),
    **dict.fromkeys(("-x", "--env"), "^NAME(=VALUE)? Environment variable"),
    "--device": r"^cpu\|cuda\|auto .*where to train; auto means on a GPU",
    "--image-size": "^N .*(image width and height|scale images to N x N)",
    "--image": "Container image",
    "--launcher": "^PATH .* mpirun",
    "--name": "^NAME Name of the (run|lab|cluster|object)",
    "--master-port": "^N Port at which the (ranks|pods) find each other",
    "--max-restarts": "^N Restart (the job|all pods) up to N times",
    "--save": "as a baseline; later .* report ",
    "--to": "^PATH .*[Dd]irectory",
    "--user": "^USER (User to log in as|Name of the ordinary user on every host)",
}
# Flags that mean two things, and why.
TWO_MEANINGS = {
    "-f": "a host file as with mpirun; logs -f as with tail",
    "--backend": "the backends of a bench, and the one of a training",
    "--network": "the network of a bundle's containers; additional networks of pods",
}


def test_a_flag_means_the_same_in_every_command(helps):
    """If a description of a flag differs in a new way, make it agree or add a reason above."""
    uses = {}
    for words, text in helps.items():
        for names, meaning in flags_of(text):
            for name in names:
                uses.setdefault(name, {}).setdefault(meaning, " ".join(words))
    assert {"-n", "-w", "--hosts", "--timeout", "--to", "--follow"} <= set(uses)
    several = {name: texts for name, texts in uses.items() if len(texts) > 1}
    assert set(ONE_MEANING) | set(TWO_MEANINGS) == set(several), "each has a reason, and no reason is left over"
    assert [(name, text) for name, rule in ONE_MEANING.items() for text in several[name] if not re.search(rule, text, flags=re.I)] == []
    assert {name: texts for name, texts in several.items() if name in TWO_MEANINGS and len(texts) > 2} == {}


def flags_in_source(root):
    """Yields every flag that the sources pass to the parser, as (file, flag)."""
    for file in sorted([*(root / "src/cli").glob("*.cpp"), root / "src/trainflags/train_options.cpp"]):
        for names in re.findall(r'(?:add_(?:option|flag)\w*(?:<[^>]*>)?\(\s*|\.names = )"([^"]+)"', file.read_text()):
            for name in re.split(r"[,!]", names):
                if name.startswith("-"):
                    yield file.name, name.split("{")[0]


def test_help_names_every_flag(root, helps):
    named = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", " ".join(helps.values())))
    flags = list(flags_in_source(root))
    assert len(flags) > 100
    assert not [(file, flag) for file, flag in flags if flag not in named]


@pytest.fixture(scope="module")
def stranger(muster_on_hosts):
    """Yields stranger(words), which runs muster as an unprivileged user. It reaches no host, because ssh is a script that fails."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        home.chmod(0o755)
        ssh = home / "ssh"
        ssh.write_text("#!/bin/sh\necho no route to host >&2\nexit 255\n")
        ssh.chmod(0o755)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        environment = {"PATH": f"{home}:/usr/bin:/bin", "HOME": "/nonexistent"}
        yield lambda words: run(muster_on_hosts, *words, env=environment, cwd=home, **nobody)


# Errors that occur after parsing, so each shows that the command line was understood.
UNDERSTOOD = r"there is no run|there is no muster.yaml|needs root|No such file"


def test_examples_parse(helps, stranger):
    """Every command ends with at least two examples, and muster understands each of them."""
    for words, text in helps.items():
        examples = [shlex.split(line, comments=True) for line in lines_of(text, "Examples")]
        assert len(examples) >= 2 and text.endswith(lines_of(text, "Examples")[-1] + "\n"), words
        for example in examples:
            assert example[: len(words) + 1] == ["muster", *words], text
            ended = stranger(example[1:])
            assert ended.returncode != 2 or re.search(UNDERSTOOD, ended.stderr), f"{example}: {ended.stderr}"


def test_unknown_flag_is_a_usage_error(muster, helps):
    for words in helps:
        ended = run(muster, *words, "--no-such-flag")
        assert (ended.returncode, ended.stdout) == (2, ""), words
        assert ended.stderr, words


def test_no_command_is_a_usage_error(muster):
    ended = run(muster)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "muster --help lists the commands" in ended.stderr


MISTYPED = {
    "chekc": "there is no command 'chekc'\n  hint: did you mean muster check?",
    "lab stats": "did you mean muster lab status?",
    "destroy": "muster --help lists the commands",
    "sync --delte .": "did you mean --delete?",
    "lab up --node 3": "did you mean --nodes?",
    "exec -H n1 --tiemout 3 -- true": "did you mean --timeout?",
    "train mnist --epcohs 3": "did you mean --epochs?",
    "hosts --no_such_flag=a_b": "muster hosts has no flag --no-such-flag\n  hint: muster hosts --help",
    "exec -H n1": "muster exec -H n[1-3] uname -r",
    "hosts -H n1 --json --count": "--count cannot be combined with --json",
    "stop last --timeout never": "--timeout: 'never' is not a length of time; write 90 (seconds), 30s, 5m, 2h or 30d",
    "run -n 1 --lost-after 1 true": "--lost-after: 1 is too short; the least is",
    "run -n 1 --back-off 2h true": "--back-off: 2h is too long; the most is 3600s",
    "sync": "DIRECTORY is required",
    "hosts -H": "--hosts needs a value: --hosts HOSTS",
    "lab up --nodes three": "--nodes: 'three' is not a whole number",
}


@pytest.mark.parametrize("line", MISTYPED)
def test_mistakes_are_answered_with_what_to_write(muster, line):
    ended = run(muster, *line.split())
    assert (ended.returncode, ended.stdout) == (2, "")
    assert MISTYPED[line] in ended.stderr


@pytest.mark.parametrize("time", ["90", "30s", "5m", "2h", "1h30m", "1.5h"])
def test_durations_have_units(muster, time):
    """muster accepts the flag and then reports that the host file does not exist."""
    ended = run(muster, "run", "-f", "/no/such/file", "--timeout", time, "--stall-after", time, "--lost-after", time, "true")
    assert "/no/such/file" in ended.stderr


def test_the_docs_have_every_exit_code(root):
    codes = re.findall(r'ExitCode\{"(\w+)"', (root / "src/base/exit_code.hpp").read_text())
    assert {"0", "2", "123", "127", "other"} <= set(codes)
    assert re.findall(r"^\| (\w+) \|", (root / "docs/exit-codes.md").read_text(), flags=re.M)[: len(codes)] == codes
    constants = re.findall(r"constexpr int kExit\w+ = (\d+);", (root / "src/base/exit_code.hpp").read_text())
    assert len(constants) > 8 and set(constants) <= set(codes)


def test_a_status_file_that_cannot_be_written_is_reported_once(muster):
    ended = run(muster, "run", "-n", "1", "--status", "/no/such/ended.json", "true")
    assert (ended.returncode, ended.stdout, ended.stderr.count("/no/such/ended.json")) == (2, "", 1), ended.stderr
