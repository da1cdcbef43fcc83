"""More causes, made by one who had not read the rules: see causes.py."""

import random
import time

import workloads
from causes import nfs, paced, prepare
from lab import HERE, SERVER, USER, run

SECOND_SERVER = "10.77.0.5"


def slow_server(lab, output):
    """Two SMB servers, 10.77.0.1 and 10.77.0.5, the same work; the disk of 10.77.0.5 takes 9 ms an open, read or write."""
    for n in range(1, 4):
        lab.client(n)
    lab.samba(["data", "public"])
    lab.second_samba(SECOND_SERVER, ["data", "public"], env=lab.slow("/shares2/", 9, "open read write"))
    for where in ("shares", "shares2"):
        for share in ("data", "public"):
            workloads.office_files(lab, f"{where}/{share}")
    lab.capture(output)
    running = []
    for n in range(1, 4):
        for server in (SERVER, SECOND_SERVER):
            share = "data" if n < 3 else "public"
            running.append(lab.smbclient(f"client{n}", share, workloads.office_script(f"client{n}", 40, 0.2), server=server))
    lab.wait(*running)


def small_window(lab, output):
    """One client over 40 ms reads a file of 1.2 MB with a receive buffer of 8 KiB; others read the same over 40 ms with a normal one."""
    lab.samba(["cad"])
    for i in range(3):
        lab.file(f"shares/cad/part-{i}.dwg", 600_000)
    for n in range(1, 4):
        lab.client(n, 20)
    lab.client_sysctl("client2", "net.ipv4.tcp_rmem", "4096 8192 8192")
    lab.capture(output, snap=200)
    lab.wait(*[lab.smbclient(f"client{n}", "cad", "; ".join(f"get part-{i}.dwg /dev/null; !sleep 0.3" for i in range(3 if n != 2 else 2))) for n in range(1, 4)])


def split_responses(lab, output):
    """Before the NFS server runs a proxy that sends each response in two pieces with Nagle's algorithm on; clients delay their acknowledgements."""
    for n in (1, 2):
        lab.client(n)
    lab.ganesha(["web"], core="NFS_Port = 2050;")
    lab.at("server", "/usr/bin/python3", HERE / "proxy.py", "split-responses", 2049, SERVER, 2050)
    time.sleep(0.5)
    lab.workload("office", workloads.office())
    for n in (1, 2):
        prepare(lab, f"client{n}", "office", nfs("web"), "--file-set", f"set{n}")
    lab.capture(output)
    lab.wait(*[lab.plimsoll(f"client{n}", "office", nfs("web"), "--file-set", f"set{n}", *paced(8, 0.03)) for n in (1, 2)])


def one_disk(lab, output):
    """A disk that serves one write at a time in 7 ms; six NFS clients write all the time from the beginning."""
    lab.ganesha(["log"], env=lab.slow("/exports/log/", 7, "write", one_at_a_time=True))
    lab.workload("append", workloads.files(4, "64KiB", 0) + workloads.load(1, 4)
                 + workloads.iteration("write", '{ write = { size = "1KiB", at = "random" } }'))
    for n in range(1, 7):
        lab.client(n)
        prepare(lab, f"client{n}", "append", nfs("log"), "--file-set", f"set{n}")
    lab.capture(output)
    lab.wait(*[lab.plimsoll(f"client{n}", "append", nfs("log"), "--file-set", f"set{n}", "--duration", "4s") for n in range(1, 7)])


def slow_commit(lab, output):
    """COMMIT takes 70 ms (the server's fsync); writes themselves and everything else are fast. NFS, 2 clients."""
    lab.ganesha(["vm"], env=lab.slow("/exports/vm/", 70, "sync"))
    lab.workload("database", workloads.files(8, "64KiB", 0) + workloads.load(1, 8)
                 + workloads.iteration("transaction", '{ write = { size = "4KiB", at = "random", count = 2 } }, "flush"', 2)
                 + workloads.iteration("read", '{ read = { size = "4KiB", at = "random", count = 4 } }', 5))
    for n in (1, 2):
        lab.client(n)
        prepare(lab, f"client{n}", "database", nfs("vm"), "--file-set", f"set{n}")
    lab.capture(output, snap=300)
    lab.wait(*[lab.plimsoll(f"client{n}", "database", nfs("vm"), "--file-set", f"set{n}", *paced(8, 0.1)) for n in (1, 2)])


def denied(lab, output):
    """A client with uid 1000 asks every 50 ms for files in a directory that only root may enter: NFS3ERR_ACCES; two others work."""
    lab.ganesha(["hr"])
    folder = lab.folder / "exports/hr/payroll"
    lab.file("exports/hr/payroll/salaries.csv", 800)
    folder.chmod(0o700)
    lab.workload("office", workloads.office())
    for n in range(1, 4):
        lab.client(n)
    for n in (1, 3):
        prepare(lab, f"client{n}", "office", nfs("hr"), "--file-set", f"set{n}")
    lab.capture(output)
    running = [lab.plimsoll(f"client{n}", "office", nfs("hr"), "--file-set", f"set{n}", *paced(8, 0.12)) for n in (1, 3)]
    running.append(lab.at("client2", "sh", "-c", f"for n in $(seq 40); do nfs-cat 'nfs://{SERVER}/hr/payroll/salaries.csv?version=3&uid=1000&gid=1000'; sleep 0.05; done"))
    lab.wait(*running, may_fail=True)


def share_refused(lab, output):
    """client3's user may not connect to the share `payroll`, and tries every 150 ms; others work on `dept`."""
    lab.samba(["dept", "payroll"])
    configuration = lab.folder / "smb.conf"
    configuration.write_text(configuration.read_text().replace("[payroll]", "[payroll]\nvalid users = nobody"))
    workloads.office_files(lab, "shares/dept")
    for n in range(1, 4):
        lab.client(n)
    time.sleep(1)
    run(["smbcontrol", "-s", configuration, "smbd", "reload-config"])
    lab.capture(output)
    running = [lab.smbclient(f"client{n}", "dept", workloads.office_script(f"client{n}", 40, 0.2)) for n in (1, 2)]
    running.append(lab.smbclient("client3", "dept", "; ".join("tcon payroll; !sleep 0.15" for _ in range(30))))
    lab.wait(*running, may_fail=True)


def slow_smb_client(lab, output):
    """One of four SMB clients has 90 ms round trip and writes 20 kB files as the others do; captured at the server."""
    for n in range(1, 5):
        lab.client(n, 45) if n == 2 else lab.client(n)
    lab.samba(["docs"])
    lab.file("report.docx", 60_000)
    lab.capture(output, snap=400)
    lab.wait(*[lab.smbclient(f"client{n}", "docs", "; ".join(f"put report.docx r-{n}-{i}.docx; !sleep 0.4" for i in range(12 if n != 2 else 6))) for n in range(1, 5)])


def healthy_change(lab, output):
    """Healthy: small metadata work for 5 s, then large sequential reads for 3 s. SMB."""
    lab.samba(["projects"])
    workloads.office_files(lab, "shares/projects")
    for i in range(2):
        lab.file(f"shares/projects/model-{i}.bin", 2_500_000)
    for n in (1, 2):
        lab.client(n)
        lab.allow_large_packets(f"client{n}")
    lab.allow_large_packets("server")
    lab.capture(output, snap=240)
    scripts = [workloads.office_script(f"client{n}", 45, 0.1) + "; " + "; ".join(f"get model-{(n + i) % 2}.bin /dev/null; !sleep 0.15" for i in range(8)) for n in (1, 2)]
    lab.wait(*[lab.smbclient(f"client{n}", "projects", s) for n, s in zip((1, 2), scripts)])


def healthy_probes(lab, output):
    """Healthy: SMB clients look for names that are not there (as Explorer does: desktop.ini, autorun.inf) besides their work."""
    lab.samba(["home"])
    workloads.office_files(lab, "shares/home")
    for n in range(1, 4):
        lab.client(n)
    dice = random.Random(5)
    lab.capture(output)
    running = []
    for n in range(1, 4):
        lines = []
        for part in workloads.office_script(f"client{n}", 40, 0.1).split("; "):
            lines.append(part)
            if dice.random() < 0.4:
                lines.append(f"allinfo {dice.choice(['desktop.ini', 'autorun.inf', 'thumbs.db', 'folder.jpg'])}")
        running.append(lab.smbclient(f"client{n}", "home", "; ".join(lines)))
    lab.wait(*running, may_fail=True)
