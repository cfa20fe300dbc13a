"""Reads what ranks report on the sockets in the folder MUSTER_RECORDERS."""
import json
import os
import socket
from pathlib import Path

from tests.waiting import patient


def ask(folder: Path, name: str, request: str) -> str:
    """Returns the answer of the process that made the socket; "" if it has no such handler."""
    descriptor = os.open(folder, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(patient(5))
            connection.connect(f"/proc/self/fd/{descriptor}/{name}")  # the folder's path may be too long for a socket
            connection.sendall(f"POST /handler/{request} HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
            answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    finally:
        os.close(descriptor)
    head, _, body = answer.partition("\r\n\r\n")
    assert head.split()[1] in ("200", "404"), answer
    return body if head.split()[1] == "200" else ""


def collectives(folder: Path, handler: str) -> list:
    """Returns {group: [(number, name, whether it is done), ...]} of each process, the one with the fewest collectives first."""
    found = []
    for one in folder.iterdir():
        groups: dict = {}
        for entry in json.loads(ask(folder, one.name, handler)).get("entries", []):
            if not entry["is_p2p"]:
                groups.setdefault(entry["process_group"][0], []).append((entry["collective_seq_id"], entry["profiling_name"], entry["retired"]))
        found.append(groups)
    return sorted(found, key=lambda groups: sum(map(len, groups.values())))
