"""The causes: each function makes a server, clients and one thing that is wrong, and captures what follows.

Sizes and times are parameters: a fresh capture of the same cause has others.
"""

import os
import random
import signal
import time

import workloads
from lab import HERE, PASSWORD, SERVER, USER


def nfs(export, where=SERVER, port=2049, mount=20048):
    return f"nfs://{where}:{port}/{export}?mountport={mount}"


def office(lab, server, clients, name="office", wires=None, env=None):
    """A server with small files, and clients, some of them behind a wire; the target and the clients' names."""
    for client in range(1, clients + 1):
        lab.client(client, *(wires or {}).get(client, []))
    names = [f"client{client}" for client in range(1, clients + 1)]
    if server == "samba":
        lab.samba([name], env=env)
        workloads.office_files(lab, f"shares/{name}")
        return name, names
    lab.ganesha([name], env=env)
    lab.workload("office", workloads.office())
    for client in names:
        prepare(lab, client, "office", nfs(name), "--file-set", client)
    return nfs(name), names


def work(lab, client, target, seconds, pause_s):
    """One client works on what `office` made for so long."""
    if target.startswith("nfs:"):
        return lab.plimsoll(client, "office", target, "--file-set", client, *paced(seconds, pause_s))
    return lab.smbclient(client, target, workloads.office_script(client, int(seconds / max(pause_s, 0.01)), pause_s))


def prepare(lab, client, name, target, *options):
    """Makes the workload's files, so that the capture is of the load alone."""
    lab.wait(lab.plimsoll(client, name, target, "--duration", "200ms", *options))


def paced(seconds, pause_s):
    think = ["--think", f"exponential:{int(pause_s * 1000)}ms"] if pause_s > 0 else []
    return ["--duration", f"{seconds}s", *think]


def lossy_wire(lab, output, loss=3, delay_ms=3, gets=40, size=90_000, pause_s=0.1, server="samba", seconds=12):
    """The only client's wire loses packets in both directions."""
    lab.client(1, delay_ms, loss)
    if server == "ganesha":
        lab.ganesha(["media"])
        lab.workload("reads", workloads.reads(block="16KiB"))
        prepare(lab, "client1", "reads", nfs("media"))
        lab.capture(output, snap=300)
        lab.wait(lab.plimsoll("client1", "reads", nfs("media"), *paced(seconds, pause_s)))
        return
    lab.samba(["media"])
    for number in range(8):
        lab.file(f"shares/media/photo-{number}.jpg", size + 1_000 * number)
    lab.capture(output)
    script = "; ".join(f"get photo-{number * 5 % 8}.jpg /dev/null; !sleep {pause_s}" for number in range(gets))
    lab.wait(lab.smbclient("client1", "media", script))


def full_disk(lab, output, kilobytes=700, server="samba", clients=2, seconds=8, pause_s=0.2):
    """The disk fills while clients write new files."""
    folder = f"{'shares' if server == 'samba' else 'exports'}/scans"
    lab.small_disk(folder, kilobytes)
    names = [f"client{client}" for client in range(1, clients + 1)]
    for client in range(1, clients + 1):
        lab.client(client)
    lab.file("page.tif", 30_000)
    if server == "samba":
        lab.samba(["scans"])
    else:
        lab.ganesha(["scans"])
    lab.capture(output)
    count = int(seconds / pause_s)
    running = []
    for name in names:
        if server == "samba":
            script = "; ".join(f"put page.tif {name}-{number:03}.tif; !sleep {pause_s}; allinfo {name}-{number:03}.tif" for number in range(count))
            running.append(lab.smbclient(name, "scans", script))
        else:
            url = f"nfs://{SERVER}/scans/{name}-$n.tif?version=3"
            running.append(lab.at(name, "sh", "-c", f"for n in $(seq {count}); do nfs-cp page.tif '{url}'; sleep {pause_s}; done".replace("'", '"')))
    lab.wait(*running, may_fail=True)


def slow_directory(lab, output, directory="archive", ms=25, calls="read", clients=3, gets=50, others=("letters", "plans", "invoices"), pause_s=0.08):
    """One directory of a share lies on a slow disk; smbclient gets files of all directories."""
    lab.samba(["projects"], env=lab.slow(f"/projects/{directory}/", ms, calls))
    folders = [directory, *others]
    for folder in folders:
        for number in range(12):
            lab.file(f"shares/projects/{folder}/{folder}-{number:02}.doc", 3_000 + 200 * number)
    for client in range(1, clients + 1):
        lab.client(client)
    dice = random.Random(len(directory))
    lab.capture(output)
    running = []
    for client in range(1, clients + 1):
        chosen = [(dice.choice(folders), dice.randrange(12)) for _ in range(gets)]
        script = "; ".join(f"get {folder}\\{folder}-{number:02}.doc /dev/null; !sleep {pause_s}" for folder, number in chosen)
        running.append(lab.smbclient(f"client{client}", "projects", script))
    lab.wait(*running)


def slow_share(lab, output, slow="media", others=("home", "projects"), ms=12, clients=2, pause_s=0.25, seconds=8):
    """One of several shares lies on a slow disk."""
    shares = [*others, slow]
    lab.samba(shares, env=lab.slow(f"/shares/{slow}/", ms, "open read write sync"))
    for share in shares:
        workloads.office_files(lab, f"shares/{share}")
    for client in range(1, clients + 1):
        lab.client(client)
    lab.capture(output)
    lab.wait(*[work(lab, f"client{client}", share, seconds, pause_s) for share in shares for client in range(1, clients + 1)])


def slow_client(lab, output, clients=4, slow=3, wire=(25, 0, 100_000), gets=10, size=60_000, pause_s=0.5):
    """One client of several has a narrow or a long wire; all get the same files."""
    for client in range(1, clients + 1):
        lab.client(client, *(wire if client == slow else []))
    lab.samba(["plans"])
    for number in range(6):
        lab.file(f"shares/plans/plan-{number}.dwg", size + 2_000 * number)
    lab.capture(output)
    scripts = ["; ".join(f"get plan-{(number + client) % 6}.dwg /dev/null; !sleep {pause_s}" for number in range(gets)) for client in range(clients)]
    lab.wait(*[lab.smbclient(f"client{client}", "plans", script) for client, script in enumerate(scripts, 1)])


def few_credits(lab, output, credits=4, delay_ms=8, depth=24, seconds=3, block="128B"):
    """The server grants few credits to a client that has much to do; captured on the client."""
    lab.client(1, delay_ms)
    lab.samba(["database"], [f"smb2 max credits = {credits}"])
    lab.workload("reads", workloads.reads(block=block, depth=depth))
    target = f"smb://{USER}@{SERVER}/database"
    prepare(lab, "client1", "reads", target)
    lab.capture(output, where="client1", device="tun0")
    lab.wait(lab.plimsoll("client1", "reads", target, "--duration", f"{seconds}s"))


def busy_server(lab, output, ms=6, clients=8, calm_s=3, busy_s=2, server="ganesha", block="128B"):
    """A disk that serves one request at a time; first one client, then many."""
    env = lab.slow("/volume/", ms, "read", one_at_a_time=True)
    names = [f"client{client}" for client in range(1, clients + 1)]
    lab.workload("reads", workloads.reads(block=block))
    if server == "samba":
        lab.samba(["volume"], env=env)
        target = f"smb://{USER}@{SERVER}/volume"
    else:
        lab.ganesha(["volume"], env=env)
        target = nfs("volume")
    for number, name in enumerate(names, 1):
        lab.client(number)
        prepare(lab, name, "reads", target, "--file-set", name)
    lab.capture(output)
    first = lab.plimsoll(names[0], "reads", target, "--duration", f"{calm_s + busy_s}s", "--file-set", names[0])
    time.sleep(calm_s)
    rest = [lab.plimsoll(name, "reads", target, "--duration", f"{busy_s}s", "--file-set", name) for name in names[1:]]
    lab.wait(first, *rest)


def unanswered_break(lab, output, opens=2, others=30, stopped_s=None, file="shared_noclose"):
    """A client holds a batch oplock and does not answer its break; others open the file."""
    lab.samba(["team"])
    workloads.office_files(lab, "shares/team")
    for client in range(1, 2 + opens):
        lab.client(client)
    lab.capture(output)
    holder = lab.at("client1", "smbtorture", f"//{SERVER}/team", "-U", f"{USER}%{PASSWORD}", "smb2.hold-oplock")
    time.sleep(3)
    os.killpg(holder.pid, signal.SIGSTOP)
    running = []
    for client in range(2, 2 + opens):
        normal = workloads.office_script(f"client{client}", others, 0.05)
        script = f"{normal}; get oplock_test\\{file} /dev/null; {normal}"
        running.append(lab.smbclient(f"client{client}", "team", script))
    if stopped_s:
        time.sleep(stopped_s)
        os.killpg(holder.pid, signal.SIGCONT)
    lab.wait(*running, may_fail=True)
    os.killpg(holder.pid, signal.SIGKILL)


def slow_reader(lab, output, bytes_per_s=250_000, size=1_500_000, share="video"):
    """A program on one client reads what arrives too slowly: its receive window closes."""
    lab.samba([share])
    lab.file(f"shares/{share}/film.mov", size)
    workloads.office_files(lab, f"shares/{share}")
    lab.client(1)
    lab.client(2)
    lab.proxy("client2", "slow", 4450, 445, bytes_per_s)
    lab.capture(output)
    one = work(lab, "client1", share, 5, 0.2)
    two = lab.smbclient("client2", share, "get film.mov /dev/null", server="127.0.0.1", port=4450)
    lab.wait(one, two)


def split_requests(lab, output, server="ganesha", seconds=6, pause_s=0.03):
    """A program on one client sends each request in two pieces with Nagle's algorithm on."""
    target, names = office(lab, server, 2)
    lab.proxy("client1", "split", 4000, 2049 if server == "ganesha" else 445)
    lab.proxy("client1", "split", 4001, 20048)
    lab.capture(output)
    if server == "ganesha":
        one = work(lab, "client1", nfs("office", "127.0.0.1", 4000, 4001), seconds, pause_s)
    else:
        script = workloads.office_script("client1", int(seconds / 0.3), pause_s)
        one = lab.smbclient("client1", "office", script, server="127.0.0.1", port=4000)
    lab.wait(one, work(lab, "client2", target, seconds, 0.1))


def chatty_client(lab, output, delay_ms=12, server="samba", seconds=6, files=60, questions=120):
    """A client far away asks one small question after the other; captured on the client."""
    lab.client(1, delay_ms)
    folder = "shares/source" if server == "samba" else "exports/source"
    for number in range(files):
        lab.file(f"{folder}/part-{number % 5}/unit-{number:03}.c", 1_000)
    if server == "samba":
        lab.samba(["source"])
        lab.capture(output, where="client1", device="tun0")
        script = "; ".join(f"allinfo part-{number % 5}\\unit-{number:03}.c" for number in range(questions // 4))
        lab.wait(lab.smbclient("client1", "source", script))
        return
    lab.ganesha(["source"])
    lab.workload("walk", workloads.look_ups(files))
    prepare(lab, "client1", "walk", nfs("source"))
    lab.capture(output, where="client1", device="tun0")
    lab.wait(lab.plimsoll("client1", "walk", nfs("source"), "--duration", f"{seconds}s"))


def stopped_server(lab, output, pause_s=1.3, before_s=4, seconds=9, clients=4, client_pause_s=0.15, server="samba"):
    """The whole server stands still once."""
    target, names = office(lab, server, clients)
    lab.capture(output)
    running = [work(lab, name, target, seconds, client_pause_s) for name in names]
    time.sleep(before_s)
    stop_at = time.time()
    lab.signal_server(signal.SIGSTOP)
    time.sleep(pause_s)
    lab.signal_server(signal.SIGCONT)
    lab.wait(*running)
    print(f"  stopped at {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(stop_at))} UTC for {pause_s} s")


def wrong_password(lab, output, attempts=25, clients=3, seconds=8, pause_s=0.2):
    """A client logs on with an old password again and again; others work."""
    target, names = office(lab, "samba", clients)
    lab.client(9)
    lab.capture(output)
    running = [work(lab, name, target, seconds, pause_s) for name in names]
    for _ in range(attempts):
        lab.wait(lab.smbclient("client9", "office", "ls", "before the change"), may_fail=True)
        time.sleep(0.1)
    lab.wait(*running)


def stale_handles(lab, output, seconds=8, at_s=3, pause_s=0.05, clients=2):
    """The files of an export are replaced on the server under clients that have handles of them."""
    lab.ganesha(["wiki"])
    lab.workload("watch", workloads.files(8, "1KiB", 0) + workloads.load(keep_open=8)
                 + workloads.iteration("look", '"open", "getattr-open"'))
    names = [f"client{client}" for client in range(1, clients + 1)]
    for number, name in enumerate(names, 1):
        lab.client(number)
        prepare(lab, name, "watch", nfs("wiki"), "--file-set", name)
    # A new server process has none of the files open: it finds them by their handles.
    lab.restart_ganesha()
    lab.capture(output)
    running = [lab.plimsoll(name, "watch", nfs("wiki"), "--file-set", name, *paced(seconds, pause_s)) for name in names]
    time.sleep(at_s)
    lab.replace_files("exports/wiki")
    lab.wait(*running, may_fail=True)


def denied_writes(lab, output, clients=3, seconds=8, pause_s=0.2):
    """A share has become read-only; its users go on as before."""
    lab.samba(["dept"], share_settings=["read list = sara root"])
    workloads.office_files(lab, "shares/dept")
    for client in range(1, clients + 1):
        lab.client(client)
    lab.capture(output)
    lab.wait(*[work(lab, f"client{client}", "dept", seconds, pause_s) for client in range(1, clients + 1)], may_fail=True)


def healthy_far(lab, output, delay_ms=4, seconds=8):
    """A client a few milliseconds away reads and writes NFS files at leisure; captured on the client."""
    lab.client(1, delay_ms)
    lab.ganesha(["home"])
    lab.workload("office", workloads.office())
    prepare(lab, "client1", "office", nfs("home"))
    lab.capture(output, where="client1", device="tun0")
    lab.wait(lab.plimsoll("client1", "office", nfs("home"), *paced(seconds, 0.1)))


def healthy_torture(lab, output, seconds=2):
    """smbtorture's benches of echoes and of paths; nothing is wrong."""
    lab.samba(["bench"])
    lab.client(1)
    lab.capture(output, snap=300)
    lab.wait(lab.at("client1", "smbtorture", f"//{SERVER}/bench", "-U", f"{USER}%{PASSWORD}", "smb2.compound.related1", "smb2.compound.create-write-close",
                    "smb2.rw.rw1", "smb2.dir.find", "smb2.getinfo.complex"), may_fail=True)


def healthy_office(lab, output, server="samba", clients=3, seconds=8, pause_s=0.1):
    """Small files; nothing is wrong."""
    target, names = office(lab, server, clients)
    lab.capture(output)
    lab.wait(*[work(lab, name, target, seconds, pause_s) for name in names])


def healthy_stream(lab, output, clients=2, size=3_000_000, rounds=3, pause_s=0.5):
    """Large files, read and written; nothing is wrong."""
    lab.samba(["video"], ["server min protocol = SMB3"])
    lab.allow_large_packets("server")
    lab.file("film.mov", size)
    for client in range(1, clients + 1):
        lab.client(client)
        lab.allow_large_packets(f"client{client}")
        lab.file(f"shares/video/film-{client}.mov", size)
    lab.capture(output, snap=256)
    scripts = ["; ".join(f"get film-{client}.mov /dev/null; !sleep {pause_s}; put film.mov new-{client}-{number}.mov; !sleep {pause_s}"
                         for number in range(rounds)) for client in range(1, clients + 1)]
    lab.wait(*[lab.smbclient(f"client{client}", "video", script) for client, script in enumerate(scripts, 1)])
