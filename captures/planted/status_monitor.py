"""A status monitor (rpc.statd) for NFS-Ganesha that agrees to everything: without one Ganesha grants no NLM lock.

Registers program 100024 with rpcbind on the same machine.
"""

import socket
import struct
import threading

PROGRAM, PORTMAP_SET = 100_024, 1
# Results by procedure: SM_STAT and SM_MON return a status and a state, SM_UNMON and SM_UNMON_ALL a state.
RESULTS = {1: struct.pack(">II", 0, 1), 2: struct.pack(">II", 0, 1), 3: struct.pack(">I", 1), 4: struct.pack(">I", 1)}


def register(protocol, port):
    rpcbind = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    rpcbind.settimeout(5)
    rpcbind.connect(("127.0.0.1", 111))
    call = struct.pack(">IIIIII", 1, 0, 2, 100_000, 2, PORTMAP_SET) + bytes(16)
    rpcbind.send(call + struct.pack(">IIII", PROGRAM, 1, protocol, port))
    rpcbind.recv(512)


def reply(call):
    procedure = struct.unpack(">I", call[20:24])[0]
    return call[:4] + struct.pack(">IIIII", 1, 0, 0, 0, 0) + RESULTS.get(procedure, b"")


def serve(connection):
    while len(header := connection.recv(4, socket.MSG_WAITALL)) == 4:
        length = struct.unpack(">I", header)[0] & 0x7FFF_FFFF
        answer = reply(connection.recv(length, socket.MSG_WAITALL))
        connection.sendall(struct.pack(">I", 0x8000_0000 | len(answer)) + answer)


def accept(listener):
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.bind(("127.0.0.1", 0))
listener = socket.create_server(("127.0.0.1", 0))
register(17, datagrams.getsockname()[1])
register(6, listener.getsockname()[1])
threading.Thread(target=accept, args=(listener,), daemon=True).start()
while True:
    call, sender = datagrams.recvfrom(2_048)
    datagrams.sendto(reply(call), sender)
