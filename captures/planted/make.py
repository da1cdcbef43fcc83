#!/usr/bin/python3
"""Makes the captures with a planted cause, and the healthy ones: make.py [NAME...] (plan.py has the names)

Needs root on Linux (namespaces, TUN devices), Samba with smbclient and smbtorture, NFS-Ganesha with rpcbind, tcpdump, zstd, a
C compiler, and a built plimsoll (PLIMSOLL=path, default target/debug/plimsoll). Replaces NAME.pcap.zst beside this file, or
in the folder that OUTPUT names.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import causes
import plan

UNSHARE = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def inside(name):
    from lab import Lab

    function, parameters = plan.PLAN[name]
    output = Path(os.environ.get("OUTPUT", causes.HERE)) / f"{name}.pcap"
    with tempfile.TemporaryDirectory(prefix="plimsoll-planted-") as folder:
        os.chmod(folder, 0o755)
        lab = Lab(folder)
        try:
            function(lab, output, **parameters)
            lab.finish()
        except BaseException:
            lab.show_logs()
            raise
        finally:
            lab.end()


def main():
    if os.geteuid() != 0:
        sys.exit("make.py: needs root: it makes network namespaces")
    if len(sys.argv) == 3 and sys.argv[1] == "--inside":
        return inside(sys.argv[2])
    for name in sys.argv[1:] or plan.SHIPPED:
        print(name, flush=True)
        subprocess.run([*UNSHARE, "/usr/bin/python3", __file__, "--inside", name], check=True)


main()
