"""A wire of our own between a client's namespace and the router: delay, loss and bandwidth, which this kernel may not have.

wire.py CLIENT_NAMESPACE CLIENT_DEVICE ROUTER_DEVICE DELAY_MS LOSS_PERCENT BYTES_PER_S LARGEST_PACKET

Each direction delays every packet, drops a share of them (of those that carry data), and sends at most so many bytes per
second (0: no limit; the queue holds a quarter of a second). It drops larger packets than the largest (0: none). Prints the numbers of passed and dropped packets at the end.
"""

import fcntl
import heapq
import os
import random
import select
import signal
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 1, 0x1000
CLONE_NEWNET = 0x40000000
SMALL = 100
QUEUE_S = 0.25


def open_tun(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


def open_tun_in(namespace, name):
    """A device belongs to the namespace of the thread that opens it."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if libc.setns(there, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    fd = open_tun(name)
    libc.setns(here, CLONE_NEWNET)
    return fd


def main():
    namespace, client, router, delay_ms, loss, rate, largest = sys.argv[1:]
    delay, loss, rate = float(delay_ms) / 1e3, float(loss) / 100, float(rate)
    near, far = open_tun_in(namespace, client), open_tun(router)
    dice = random.Random(7)
    waiting, number, passed, dropped = [], 0, 0, 0
    free = {near: 0.0, far: 0.0}
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    print("ready", flush=True)
    poll = select.poll()
    poll.register(near, select.POLLIN)
    poll.register(far, select.POLLIN)
    while not ended:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, to, packet = heapq.heappop(waiting)
            try:
                os.write(to, packet)
            except OSError:
                dropped += 1
        pause = 200 if not waiting else max(0, (waiting[0][0] - now) * 1e3)
        # poll counts whole milliseconds: the last one is spent awake.
        for fd, _ in poll.poll(int(pause)):
            while True:
                try:
                    packet = os.read(fd, 65536)
                except BlockingIOError:
                    break
                now, to = time.monotonic(), far if fd == near else near
                if 0 < int(largest) < len(packet):
                    dropped += 1
                    continue
                start = max(now, free[to])
                if len(packet) > SMALL and (dice.random() < loss or start - now > QUEUE_S):
                    dropped += 1
                    continue
                if rate > 0:
                    free[to] = start + len(packet) / rate
                    start = free[to]
                number, passed = number + 1, passed + 1
                heapq.heappush(waiting, (start + delay, number, to, packet))
    print(f"passed {passed}, dropped {dropped}", flush=True)


main()
