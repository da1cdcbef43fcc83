"""Packs a wheel: a zip whose files have the time of the commit, with its RECORD. Arguments: tree, wheel, dist-info's name, time."""

import base64
import hashlib
import os
import sys
import time
import zipfile

tree, wheel, info, epoch = sys.argv[1:]
when = time.gmtime(int(epoch))[:6]
paths = sorted(os.path.relpath(os.path.join(folder, name), tree) for folder, _, names in os.walk(tree) for name in names)
# What describes the wheel stands at its end: tools find it there without reading the rest.
paths.sort(key=lambda path: path.startswith(info))
record = []
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:

    def add(path, content, mode):
        entry = zipfile.ZipInfo(path, when)
        entry.create_system = 3
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        out.writestr(entry, content, compresslevel=9)

    for path in paths:
        with open(os.path.join(tree, path), "rb") as file:
            content = file.read()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}\n")
        add(path, content, 0o755 if ".data/scripts/" in path else 0o644)
    own = f"{info}/RECORD"
    add(own, "".join([*record, f"{own},,\n"]), 0o644)
