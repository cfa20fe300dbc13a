"""Run by root on a host: `reject HOW FROM` rejects new TCP connections from an IPv4 address, except to port 22; `clear` undoes it.

HOW is rst (a TCP reset) or icmp (administratively prohibited, as firewalld does). The script configures the kernel's firewall, nftables,
directly, because not every machine that runs the tests has the program nft.
"""
import socket
import struct
import sys

NFTABLES, IPV4, NESTED = 10, 2, 0x8000
TABLE, CHAIN = b"muster\0", b"input\0"
NEW_TABLE, DELETE_TABLE, NEW_CHAIN, NEW_RULE = 0, 2, 3, 6
REGISTER, NETWORK, TRANSPORT, EQUAL, UNEQUAL = 1, 1, 2, 0, 1


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def number(kind, value):
    return attribute(kind, struct.pack("!I", value))


def expression(name, *attributes):
    return attribute(1 | NESTED, attribute(1, name + b"\0") + attribute(2 | NESTED, b"".join(attributes)))


def value(kind, data):
    return attribute(kind | NESTED, attribute(1, data))


def field(base, offset, length):
    return expression(b"payload", number(1, REGISTER), number(2, base), number(3, offset), number(4, length))


def compare(how, data):
    return expression(b"cmp", number(1, REGISTER), number(2, how), value(3, data))


def rule(how, source):
    only_syn = expression(b"bitwise", number(1, REGISTER), number(2, REGISTER), number(3, 1), value(4, b"\x12"), value(5, b"\0"))
    reject = expression(b"reject", number(1, 1)) if how == "rst" else expression(b"reject", number(1, 0), attribute(2, b"\x0d"))
    return b"".join((field(NETWORK, 9, 1), compare(EQUAL, b"\x06"), field(NETWORK, 12, 4), compare(EQUAL, socket.inet_aton(source)),
                     field(TRANSPORT, 13, 1), only_syn, compare(EQUAL, b"\x02"), field(TRANSPORT, 2, 2), compare(UNEQUAL, b"\x00\x16"), reject))


def message(kind, body, flags=0, resource=0, family=IPV4):
    return struct.pack("=IHHII", 20 + len(body), kind, 1 | flags, 0, 0) + struct.pack("!BBH", family, 0, resource) + body


def apply(*changes):
    create, acknowledge = 0x400, 4
    batch = [message(0x10, b"", resource=NFTABLES, family=0)]
    batch += [message(NFTABLES << 8 | kind, body, (0 if kind == DELETE_TABLE else create) | acknowledge) for kind, body in changes]
    batch.append(message(0x11, b"", resource=NFTABLES, family=0))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_NETFILTER if hasattr(socket, "NETLINK_NETFILTER") else 12) as kernel:
        kernel.settimeout(10)
        kernel.bind((0, 0))
        kernel.send(b"".join(batch))
        for _ in changes:
            error = struct.unpack_from("=i", kernel.recv(65536), 16)[0]
            if error:
                sys.exit(f"the kernel's firewall answers with error {-error}")


def main(words):
    if words == ["clear"]:
        return apply((DELETE_TABLE, attribute(1, TABLE)))
    how, source = words[1:]
    hook = attribute(4 | NESTED, number(1, 1) + number(2, 0))
    return apply((NEW_TABLE, attribute(1, TABLE)),
                 (NEW_CHAIN, attribute(1, TABLE) + attribute(3, CHAIN) + hook + number(5, 1) + attribute(7, b"filter\0")),
                 (NEW_RULE, attribute(1, TABLE) + attribute(2, CHAIN) + attribute(4 | NESTED, rule(how, source))))


if __name__ == "__main__":
    main(sys.argv[1:])
