"""A program between a client and its server, on the client's machine, that is bad for TCP.

proxy.py split PORT SERVER SERVER_PORT          sends each request in two pieces: 4 bytes, then the rest; Nagle's algorithm is on
proxy.py split-responses PORT SERVER SERVER_PORT    the same of responses, on the server's machine
proxy.py stall PORT SERVER SERVER_PORT SECONDS   reads nothing from the server for so long, after each 3 MiB
proxy.py slow PORT SERVER SERVER_PORT RATE      reads at most RATE bytes per second from the server, with a receive buffer of 16 KiB
"""

import socket
import sys
import threading
import time

BUFFER = 16_384
STALL_AFTER = 3 << 20


def pump_whole(source, sink):
    while data := source.recv(65_536):
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)


def pump_split(source, sink):
    while data := source.recv(65_536):
        sink.send(data[:4])
        if data[4:]:
            sink.sendall(data[4:])
    sink.shutdown(socket.SHUT_WR)


def pump_slowly(source, sink, rate):
    while data := source.recv(4_096):
        sink.sendall(data)
        time.sleep(len(data) / rate)
    sink.shutdown(socket.SHUT_WR)


def pump_with_stalls(source, sink, seconds):
    left = STALL_AFTER
    while data := source.recv(min(65_536, left)):
        sink.sendall(data)
        left -= len(data)
        if left == 0:
            time.sleep(seconds)
            left = STALL_AFTER
    sink.shutdown(socket.SHUT_WR)


def serve(mode, port, server, rate):
    # On the server's machine at the server's address.
    listener = socket.create_server((server[0] if mode == "split-responses" else "127.0.0.1", port))
    while True:
        client, _ = listener.accept()
        if mode != "split-responses":
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        upstream = socket.socket()
        if mode == "slow":
            # Before the handshake: it decides how large the window may ever be.
            upstream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        upstream.connect(server)
        to_server = pump_split if mode == "split" else pump_whole
        from_server = (lambda a, b: pump_slowly(a, b, rate)) if mode == "slow" else pump_whole
        threading.Thread(target=to_server, args=(client, upstream), daemon=True).start()
        if mode == "stall":
            from_server = lambda a, b: pump_with_stalls(a, b, rate)
        if mode == "split-responses":
            upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            from_server = pump_split
        threading.Thread(target=from_server, args=(upstream, client), daemon=True).start()


if __name__ == "__main__":
    mode, port, host, server_port = sys.argv[1:5]
    serve(mode, int(port), (host, int(server_port)), float(sys.argv[5]) if len(sys.argv) > 5 else 0.0)
