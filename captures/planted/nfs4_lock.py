"""Locks a file of an NFSv4 export with libnfs, holds it, unlocks it and pauses. After a refusal it pauses and asks again.

nfs4_lock.py URL FILE ROUNDS HOLD_S PAUSE_S SECONDS
"""

import ctypes
import os
import sys
import time

TRY, UNLOCK = 1, 2
BYTES = ctypes.c_uint64(512)
url, file, rounds, hold_s, pause_s, seconds = sys.argv[1:]


class Url(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in ("server", "path", "file")]


nfs = ctypes.CDLL("libnfs.so.13")
nfs.nfs_init_context.restype = ctypes.c_void_p
nfs.nfs_parse_url_dir.restype = ctypes.POINTER(Url)
nfs.nfs_get_error.restype = ctypes.c_char_p
context = ctypes.c_void_p(nfs.nfs_init_context())
target, opened = nfs.nfs_parse_url_dir(context, url.encode()), ctypes.c_void_p()


def succeed(result, what):
    if result != 0:
        raise SystemExit(f"{what}: {nfs.nfs_get_error(context).decode()}")


def lock(how):
    nfs.nfs_lseek(context, opened, ctypes.c_int64(0), os.SEEK_SET, None)
    return nfs.nfs_lockf(context, opened, how, BYTES) == 0


succeed(nfs.nfs_mount(context, target.contents.server, target.contents.path), "mount")
succeed(nfs.nfs_open(context, file.encode(), os.O_RDWR, ctypes.byref(opened)), "open")
end = time.monotonic() + float(seconds)
for _ in range(int(rounds)):
    while not (locked := lock(TRY)) and time.monotonic() < end:
        time.sleep(float(pause_s))
    if not locked:
        break
    time.sleep(float(hold_s))
    lock(UNLOCK)
    time.sleep(float(pause_s))
nfs.nfs_close(context, opened)
nfs.nfs_destroy_context(context)
