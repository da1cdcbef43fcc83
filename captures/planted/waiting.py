"""Causes that keep clients waiting outside the server's work: locks of another client, a DNS server that does not answer."""

import os
import time

import workloads
from causes import nfs, paced, prepare
from lab import HERE, SERVER, run

PYTHON = "/usr/bin/python3"


def lock_nlm(lab, output, hold_s=3, seconds=8):
    """NFSv3: host build3 (client3, uid 1007) holds a lock again and again; two hosts are refused and ask again. A fourth client works."""
    lab.at("server", "sh", "-c", f"sleep 0.4; exec {PYTHON} {HERE}/status_monitor.py", log="status_monitor.log")
    lab.ganesha(["queue"], core="NLM_Port = 32803;", locks=True)
    lab.workload("office", workloads.office())
    lab.file("exports/queue/jobs.lck", 4_096)
    for n in range(1, 5):
        lab.client(n)
    prepare(lab, "client4", "office", nfs("queue"), "--file-set", "set4")

    def locks(n, uid, rounds, hold_s, pause_s):
        return lab.at(f"client{n}", PYTHON, HERE / "nlm_client.py", SERVER, "/queue", "jobs.lck", f"build{n}", str(uid), str(rounds), str(hold_s), str(pause_s))

    lab.capture(output, snap=300)
    running = [locks(3, 1007, 3, hold_s, 0.3)]
    time.sleep(0.6)
    running += [locks(n, 1000 + n, 2, 0.05, 0.2) for n in (1, 2)]
    running.append(lab.plimsoll("client4", "office", nfs("queue"), "--file-set", "set4", *paced(seconds, 0.4)))
    lab.wait(*running)


def lock_nfs4(lab, output, hold_s=3, seconds=7):
    """NFSv4: client2 holds a lock again and again; two clients are refused and ask again. A fourth client works."""
    lab.ganesha(["mail"], protocols="3, 4")
    lab.workload("office", workloads.office())
    lab.file("exports/mail/mail.db", 8_192)
    for n in range(1, 5):
        lab.client(n)
    url = f"nfs://{SERVER}/mail?version=4.1"
    prepare(lab, "client4", "office", url, "--file-set", "set4")

    def locks(n, rounds, hold_s, pause_s, seconds):
        url = f"nfs://{SERVER}/mail?version=4"
        return lab.at(f"client{n}", PYTHON, HERE / "nfs4_lock.py", url, "/mail.db", str(rounds), str(hold_s), str(pause_s), str(seconds))

    lab.capture(output, snap=420)
    running = [locks(2, 2, hold_s, 0.3, seconds)]
    time.sleep(0.6)
    running += [locks(n, 4, 0.05, 0.2, seconds) for n in (1, 3)]
    running.append(lab.plimsoll("client4", "office", url, "--file-set", "set4", *paced(seconds, 0.4)))
    lab.wait(*running)


def dead_dns(lab, output, timeout_s=2, rounds=2):
    """Samba looks up the name of each new client; the DNS server, 10.77.9.2, does not answer."""
    lab.client(9)
    lab.at("client9", PYTHON, HERE / "name_server.py", "10.77.9.2")
    configuration = lab.folder / "resolv.conf"
    configuration.write_text(f"nameserver 10.77.9.2\noptions timeout:{timeout_s} attempts:2\n")
    run(["mount", "--bind", configuration, os.path.realpath("/etc/resolv.conf")])
    for n in (1, 2, 3):
        lab.client(n)
    lab.samba(["dept"], ["hostname lookups = yes", "hosts allow = .office.example 10.77."])
    workloads.office_files(lab, "shares/dept")
    lab.capture(output, snap=300, also="or udp port 53")
    running = []
    for _ in range(rounds):
        for n in (1, 2, 3):
            running.append(lab.smbclient(f"client{n}", "dept", workloads.office_script(f"client{n}", 8, 0.05)))
            time.sleep(0.7)
        time.sleep(1)
    lab.wait(*running)
