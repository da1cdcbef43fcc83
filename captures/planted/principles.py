"""Causes for rules that blind sets lacked, made by the author of these rules: they test that the rules see real servers."""

import os
import subprocess
import time

import workloads
from causes import nfs, paced, prepare
from lab import SERVER, USER, run


def office_clients(lab, clients, url, seconds, pause_s, name="office"):
    """Starts clients that work on files of their own."""
    return [lab.plimsoll(f"client{n}", name, url, "--file-set", f"set{n}", *paced(seconds, pause_s)) for n in clients]


def nfs_office(lab, export, clients, **server):
    """A server, and files for each client."""
    lab.ganesha([export], **server)
    lab.workload("office", workloads.office())
    for n in clients:
        lab.client(n)
        prepare(lab, f"client{n}", "office", nfs(export), "--file-set", f"set{n}")


def root_squash(lab, output, at_s=4, seconds=8, clients=(1, 2, 3), pause_s=0.05):
    """The export begins to squash root while clients work: their files belong to root."""
    nfs_office(lab, "build", clients)
    lab.capture(output, snap=220)
    running = office_clients(lab, clients, nfs("build"), seconds, pause_s)
    time.sleep(at_s)
    lab.change_export("Squash = None", "Squash = Root")
    lab.wait(*running, may_fail=True)


def read_only(lab, output, at_s=3, seconds=7, clients=(1, 2), pause_s=0.05):
    """The export becomes read-only while clients work."""
    nfs_office(lab, "scratch", clients)
    lab.capture(output, snap=220)
    running = office_clients(lab, clients, nfs("scratch"), seconds, pause_s)
    time.sleep(at_s)
    lab.change_export("Access_Type = RW", "Access_Type = RO")
    lab.wait(*running, may_fail=True)


def black_hole(lab, output, largest=1_400, seconds=14, pause_s=0.1):
    """The path to one client drops packets of more than 1,400 bytes; it reads small files, and then a large one. Others work."""
    for n in (1, 2):
        lab.client(n)
    lab.client(3, 2, 0, 0, largest)
    lab.samba(["plans"])
    workloads.office_files(lab, "shares/plans", size=300)
    lab.file("shares/plans/plan.dwg", 200_000)
    lab.capture(output, snap=300)
    running = [lab.smbclient(f"client{n}", "plans", workloads.office_script(f"client{n}", int(seconds / pause_s), pause_s)) for n in (1, 2)]
    script = "get report-00.doc /dev/null; !sleep 0.3; get report-01.doc /dev/null; !sleep 0.3; get plan.dwg /dev/null"
    reader = lab.smbclient("client3", "plans", script)
    lab.wait(*running, may_fail=True)
    reader.kill()


def stalled_reader(lab, output, stall_s=3, size=12_000_000):
    """A program on one client reads nothing for 3 s, again and again, while the server sends; another client works."""
    lab.samba(["video"])
    lab.file("shares/video/film.mov", size)
    workloads.office_files(lab, "shares/video")
    for n in (1, 2):
        lab.client(n)
        lab.allow_large_packets(f"client{n}")
    lab.allow_large_packets("server")
    lab.proxy("client2", "stall", 4450, 445, stall_s)
    lab.capture(output, snap=160)
    one = lab.smbclient("client1", "video", workloads.office_script("client1", 80, 0.1))
    two = lab.smbclient("client2", "video", "get film.mov /dev/null", server="127.0.0.1", port=4450)
    lab.wait(one, two, may_fail=True)


def slow_logon(lab, output, seconds=1, clients=(1, 2, 3)):
    """Samba maps the name of each user with a script that waits; everything else is quick."""
    script = lab.file("map-user.sh", text=f"#!/bin/sh\nsleep {seconds}\necho root\n")
    script.chmod(0o755)
    for n in clients:
        lab.client(n)
    lab.samba(["home"], [f"username map script = {script}", "username map = /dev/null"])
    workloads.office_files(lab, "shares/home")
    lab.capture(output, snap=400)
    running = [lab.smbclient(f"client{n}", "home", workloads.office_script(f"client{n}", 40, 0.1)) for n in clients]
    lab.wait(*running)


def own_directory(lab, output, ms=35, pause_s=0.08):
    """One directory lies on a slow disk; one client alone uses it, besides the others that all use."""
    lab.samba(["data"], env=lab.slow("/data/spool/", ms, "open write"))
    workloads.office_files(lab, "shares/data")
    lab.file("shares/data/spool/first.doc", 2_000)
    for n in (1, 2, 3):
        lab.client(n)
    lab.capture(output, snap=400)
    scripts = [workloads.office_script(f"client{n}", 70, pause_s) for n in (1, 2, 3)]
    own = "; ".join(f"put small.bin spool\\job-{i}.doc; !sleep 0.05" for i in range(60))
    running = [lab.smbclient(f"client{n}", "data", script) for n, script in zip((1, 2, 3), scripts)]
    running.append(lab.smbclient("client2", "data", own))
    lab.wait(*running)


def durable_writes(lab, output, ms=9, seconds=6):
    """One client appends 4 KiB at a time with FILE_SYNC to a server that needs 9 ms to store them; others write unstable data."""
    lab.ganesha(["db"], env=lab.slow("/exports/db/", ms, "sync"))
    lab.workload("journal", workloads.files(2, "64KiB", 0) + workloads.load(1, 2)
                 + workloads.iteration("append", '{ write = { size = "4KiB", at = "random", stable = true } }'))
    lab.workload("office", workloads.office())
    for n in (1, 2, 3):
        lab.client(n)
    prepare(lab, "client2", "journal", nfs("db"), "--file-set", "set2")
    for n in (1, 3):
        prepare(lab, f"client{n}", "office", nfs("db"), "--file-set", f"set{n}")
    lab.capture(output, snap=260)
    running = office_clients(lab, (1, 3), nfs("db"), seconds, 0.08)
    running.append(lab.plimsoll("client2", "journal", nfs("db"), "--file-set", "set2", "--duration", f"{seconds}s"))
    lab.wait(*running)


def restart(lab, output, at_s=4, seconds=14, clients=(1, 2, 3), pause_s=0.1):
    """NFS-Ganesha is restarted under three clients of NFS 4.1: a grace period of 5 s follows."""
    lab.ganesha(["work"], protocols="3, 4", version4="Graceless = false; Lease_Lifetime = 5; Grace_Period = 5;")
    lab.workload("office", workloads.office())
    url = f"nfs://{SERVER}/work?version=4.1"
    time.sleep(6)
    for n in clients:
        lab.client(n)
        prepare(lab, f"client{n}", "office", url, "--file-set", f"set{n}")
    lab.capture(output, snap=260)
    running = office_clients(lab, clients, url, seconds, pause_s)
    time.sleep(at_s)
    lab.restart_ganesha()
    lab.wait(*running, may_fail=True)


def smb_restart(lab, output, at_s=3, seconds=10, clients=(1, 2, 3), pause_s=0.15):
    """Samba is restarted; the clients connect again."""
    lab.samba(["team"])
    lab.workload("office", workloads.office())
    url = f"smb://{USER}@{SERVER}/team"
    for n in clients:
        lab.client(n)
        prepare(lab, f"client{n}", "office", url, "--file-set", f"set{n}")
    lab.capture(output, snap=300)
    running = office_clients(lab, clients, url, seconds, pause_s)
    time.sleep(at_s)
    lab.restart_samba()
    lab.wait(*running, may_fail=True)


def far_network(lab, output, delay_ms=40, seconds=6):
    """Two of five clients are in a network with a round trip of 80 ms; captured at the server."""
    lab.samba(["docs"])
    workloads.office_files(lab, "shares/docs")
    for n in range(1, 6):
        lab.client(n, delay_ms) if n > 3 else lab.client(n)
    lab.capture(output, snap=300)
    lab.wait(*[lab.smbclient(f"client{n}", "docs", workloads.office_script(f"client{n}", 40 if n < 4 else 12, 0.1)) for n in range(1, 6)])
