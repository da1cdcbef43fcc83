"""Locks a file of an NFSv3 export by NLM 4, holds it, unlocks it and pauses. After a refusal it pauses and asks again.

nlm_client.py SERVER EXPORT FILE HOST UID ROUNDS HOLD_S PAUSE_S

MOUNT is on port 20048, NLM on port 32803.
"""

import os
import random
import socket
import struct
import sys
import time

server, export, file, host, uid, rounds, hold_s, pause_s = sys.argv[1:]
xids = iter(range(random.randrange(1 << 30), 1 << 31))


def opaque(data):
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


def taken(data):
    """The opaque at the beginning, and what follows it."""
    length = struct.unpack(">I", data[:4])[0]
    end = 4 + length
    return data[4:end], data[end + -end % 4:]


class Program:
    def __init__(self, port, program, version):
        self.program, self.version = program, version
        self.connection = socket.socket()
        for own in range(1_023, 900, -1):
            try:
                self.connection.bind(("", own))
                break
            except OSError:
                continue
        self.connection.connect((server, port))

    def call(self, procedure, arguments):
        credential = struct.pack(">I", 7) + opaque(host.encode()) + struct.pack(">III", int(uid), 0, 0)
        call = struct.pack(">IIIIII", next(xids), 0, 2, self.program, self.version, procedure)
        call += struct.pack(">I", 1) + opaque(credential) + bytes(8) + arguments
        self.connection.sendall(struct.pack(">I", 0x8000_0000 | len(call)) + call)
        length = struct.unpack(">I", self.connection.recv(4, socket.MSG_WAITALL))[0] & 0x7FFF_FFFF
        return self.connection.recv(length, socket.MSG_WAITALL)[24:]


def handle(results, what):
    if results[:4] != bytes(4):
        raise SystemExit(f"{what}: {results[:4]}")
    return taken(results[4:])[0]


root = handle(Program(20_048, 100_005, 3).call(1, opaque(export.encode())), "MNT")
nfs, locks = Program(2_049, 100_003, 3), Program(32_803, 100_021, 4)
of_file = handle(nfs.call(3, opaque(root) + opaque(file.encode())), "LOOKUP")
process = os.getpid()
lock = opaque(host.encode()) + opaque(of_file) + opaque(f"{process}@{host}".encode()) + struct.pack(">IQQ", process, 0, 1_024)


def cookie():
    return opaque(struct.pack(">I", next(xids)))


def status(results):
    return struct.unpack(">I", taken(results)[1][:4])[0]


for _ in range(int(rounds)):
    # No waiting, exclusive; no reclaim, state 1.
    while status(locks.call(2, cookie() + struct.pack(">II", 0, 1) + lock + struct.pack(">II", 0, 1))) != 0:
        time.sleep(float(pause_s))
    nfs.call(7, opaque(of_file) + struct.pack(">QII", 0, 64, 0) + opaque(b"x" * 64))
    time.sleep(float(hold_s))
    locks.call(4, cookie() + lock)
    time.sleep(float(pause_s))
