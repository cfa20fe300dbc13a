#!/usr/bin/python3
"""The login shell of a hostile host. It runs the real command and rewrites its output by the rules in /etc/hostile.json:

    {"command": REGEX, "line": REGEX, "set": [[PATH, VALUE], ...], "replace": [[OLD, NEW], ...], "before": SAY, "instead": SAY, "after": SAY}

A rule applies to commands and to lines of standard output that its expressions match. `set` changes fields of a line's JSON, `replace`
its bytes. SAY is a list whose elements are a text (bytes as Latin-1) or [TEXT, TIMES]. Two more keys are `err`, a SAY that is written to
standard error when the command starts, and `code`, the exit code.
"""
import json
import os
import re
import subprocess
import sys
import threading


def say(texts, fd=1):
    for one in texts:
        text, times = (one, 1) if isinstance(one, str) else one
        data = text.encode("latin-1")
        many = min(times, max(1, (1 << 20) // len(data)))
        while times > 0:
            write(data * min(many, times), fd)
            times -= many


def write(data, fd):
    while data:
        data = data[os.write(fd, data):]


def changed(value, path, new):
    """Returns the value with the part at `path` replaced. Adds keys that an object lacks. If the path leads nowhere else, changes nothing."""
    if not path:
        return new
    try:
        inner = value[path[0]]
    except (KeyError, IndexError, TypeError):
        inner = None
    if isinstance(value, (dict, list)) and (inner is not None or isinstance(value, dict)):
        value[path[0]] = changed(inner if inner is not None else {}, path[1:], new)
    return value


def rewritten(line, rule):
    if "set" in rule:
        value = json.loads(line)
        for path, new in rule["set"]:
            value = changed(value, path, new)
        line = json.dumps(value, separators=(",", ":")).encode() + b"\n"
    for old, new in rule.get("replace", []):
        line = line.replace(old.encode("latin-1"), new.encode("latin-1"))
    return line


def pass_on(line, rules):
    rule = next((rule for rule in rules if "line" in rule and re.search(rule["line"].encode("latin-1"), line)), None)
    if rule is None:
        return write(line, 1)
    say(rule.get("before", []))
    if "instead" in rule:
        say(rule["instead"])
    else:
        write(rewritten(line, rule), 1)
    say(rule.get("after", []))


def copy_input(child):
    while data := os.read(0, 65536):
        write(data, child.stdin.fileno())
    child.stdin.close()


def main():
    with open("/etc/hostile.json") as file:
        rules = [rule for rule in json.load(file) if re.search(rule["command"], " ".join(sys.argv[2:]))]
    if not rules:
        os.execv("/bin/sh", ["sh", *sys.argv[1:]])
    child = subprocess.Popen(["/bin/sh", *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    threading.Thread(target=copy_input, args=(child,), daemon=True).start()
    for rule in rules:
        say(rule.get("err", []), 2)
    if any("line" in rule for rule in rules):
        for line in child.stdout:
            pass_on(line, rules)
    else:  # the output need not consist of lines
        while data := os.read(child.stdout.fileno(), 65536):
            write(data, 1)
    os._exit(next((rule["code"] for rule in rules if "code" in rule), child.wait() & 255))


main()
