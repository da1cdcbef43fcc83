"""A router, a server and clients in network namespaces; real servers; tcpdump beside the server.

The server is 10.77.0.1; client N is 10.77.N.2. Everything lives in namespaces that end with the process.
"""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLIMSOLL = os.environ.get("PLIMSOLL", str(ROOT / "target/debug/plimsoll"))
SERVER = "10.77.0.1"
# Made for these captures, worth nothing elsewhere.
USER, PASSWORD = "sara", "plimsoll"


def run(line, **options):
    subprocess.run(line.split() if isinstance(line, str) else line, check=True, **options)


class Lab:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.running = []
        run("mount -t tmpfs plimsoll /run")
        run("ip link set dev lo up")
        run("ip netns add server")
        self._veth("server", "10.77.0")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        self.server_sysctl("net.ipv4.tcp_congestion_control", "reno")

    # Network.

    def _veth(self, name, net):
        run(f"ip link add name {name} type veth peer name eth0 netns {name}")
        run(f"ip link set dev {name} up gso_max_segs 1")
        run(f"ip addr add {net}.254/24 dev {name}")
        last = 1 if name == "server" else 2
        run(f"ip -n {name} addr add {net}.{last}/24 dev eth0")
        run(f"ip -n {name} link set dev eth0 up gso_max_segs 1")
        run(f"ip -n {name} link set dev lo up")
        run(f"ip -n {name} route add default via {net}.254")

    def allow_large_packets(self, name):
        """Many segments in one packet, as a capture on the sender shows them."""
        run(f"ip link set dev {name} gso_max_segs 40")
        run(f"ip -n {name} link set dev eth0 gso_max_segs 40")

    def client(self, number, delay_ms=None, loss=0, rate=0, largest=0):
        """A client on the local network, or behind a wire of its own."""
        name, net = f"client{number}", f"10.77.{number}"
        run(f"ip netns add {name}")
        if delay_ms is None:
            self._veth(name, net)
            return name
        command = ["/usr/bin/python3", HERE / "wire.py", name, "tun0", f"tun{number}", delay_ms, loss, rate, largest]
        log = self.folder / f"wire{number}.log"
        wire = self._start(command, log)
        until(lambda: "ready" in log.read_text(), "wire")
        run(f"ip addr add {net}.254 peer {net}.2 dev tun{number}")
        run(f"ip link set dev tun{number} up mtu 1500 txqueuelen 10000")
        run(f"ip -n {name} addr add {net}.2 peer {net}.254 dev tun0")
        run(f"ip -n {name} link set dev tun0 up mtu 1500 txqueuelen 10000")
        run(f"ip -n {name} link set dev lo up")
        run(f"ip -n {name} route add default dev tun0")
        self.wire = (wire, log)
        return name

    def server_sysctl(self, key, value):
        run(["ip", "netns", "exec", "server", "sysctl", "-qw", f"{key}={value}"])

    def client_sysctl(self, client, key, value):
        run(["ip", "netns", "exec", client, "sysctl", "-qw", f"{key}={value}"])

    # Programs.

    def _start(self, command, log, env=None, stdin=subprocess.DEVNULL, **options):
        output = open(log, "wb")
        environment = dict(os.environ, **(env or {}))
        command = [str(word) for word in command]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT,
                                   env=environment, stdin=stdin, start_new_session=True, **options)
        self.running.append(process)
        return process

    def at(self, where, *command, log=None, env=None, stdin=subprocess.DEVNULL):
        """Starts a program in a namespace."""
        log = self.folder / (log or f"{where}-{len(self.running)}.log")
        return self._start(["ip", "netns", "exec", where, *command], log, env, cwd=self.folder, stdin=stdin)

    def plimsoll(self, where, workload, target, *options):
        path = self.folder / f"{workload}.toml"
        workload = str(path) if path.exists() else workload
        return self.at(where, PLIMSOLL, "run", workload, "--target", target, "--threads", "1", *options,
                       env={"PLIMSOLL_PASSWORD": PASSWORD})

    def workload(self, name, text):
        (self.folder / f"{name}.toml").write_text(f'name = "{name}"\ndescription = "{name}"\n' + text)

    def smbclient(self, where, share, script, password=PASSWORD, server=SERVER, port=445):
        """Runs commands; only from its standard input does smbclient take those with `!`, for the shell."""
        file = self.folder / f"script-{len(self.running)}"
        file.write_text(script.replace("; ", "\n") + "\n")
        return self.at(where, "smbclient", f"//{server}/{share}", "-p", str(port), "-U", f"{USER}%{password}", stdin=open(file, "rb"))

    def wait(self, *processes, limit=240, may_fail=False):
        for process in processes:
            code = process.wait(limit)
            # 4: the numbers of the run are invalid, which is no matter here.
            if code not in (0, 4) and not may_fail:
                raise SystemExit(f"{process.args}: {code}")

    def show_logs(self):
        for log in self.folder.glob("*.log"):
            print(f"== {log.name}\n{log.read_text(errors='replace')[-1500:]}")

    def proxy(self, where, mode, port, server_port, *rest):
        """A program on a client's machine, between its clients and the server."""
        self.at(where, "/usr/bin/python3", HERE / "proxy.py", mode, port, SERVER, server_port, *rest)
        time.sleep(0.5)

    def file(self, path, size=0, text=None):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o777)
        path.write_bytes(text.encode() if text is not None else bytes(i * 31 % 251 for i in range(4096)) * (size // 4096 + 1))
        if text is None:
            os.truncate(path, size)
        path.chmod(0o666)
        return path

    # Servers.

    def slow(self, path, ms, calls, one_at_a_time=False):
        """The environment that makes a server's disk slow below a path."""
        library = self.folder / "slow.so"
        run(["cc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "slow.c", "-ldl"])
        env = {"LD_PRELOAD": str(library), "SLOW_PATH": path, "SLOW_MS": str(ms), "SLOW_CALLS": calls}
        if one_at_a_time:
            env["SLOW_LOCK"] = str(self.folder / "head")
        return env

    def samba(self, shares, settings=(), env=None, share_settings=()):
        state = self.folder / "state"
        state.mkdir()
        (self.folder / "users").write_text(f"root = {USER}\n")
        lines = ["[global]", f"interfaces = {SERVER}/24", "bind interfaces only = yes", "smb ports = 445", "disable netbios = yes",
                 "netbios name = FILESERVER", "server role = standalone server", "guest account = root", f"username map = {self.folder}/users",
                 f"passdb backend = tdbsam:{state}/passdb.tdb", "log level = 0", f"log file = {state}/log", "load printers = no",
                 "disable spoolss = yes", "printcap name = /dev/null", "kernel change notify = no", f"private dir = {state}",
                 f"ncalrpc dir = {state}/ncalrpc", *(f"{what} directory = {state}" for what in ["lock", "state", "cache", "pid"]),
                 *settings]
        for share in shares:
            path = self.folder / "shares" / share
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o777)
            lines += [f"[{share}]", f"path = {path}", "read only = no", *share_settings]
        configuration = self.folder / "smb.conf"
        configuration.write_text("\n".join(lines) + "\n")
        run(["pdbedit", "-s", configuration, "-a", "-t", "-u", "root"], input=f"{PASSWORD}\n{PASSWORD}\n", text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._start_samba("smbd.log", env)

    def _start_samba(self, log, env=None):
        command = ["smbd", "--foreground", "--no-process-group", "--debug-stdout", "-s", self.folder / "smb.conf"]
        self.server = self.at("server", *command, log=log, env=env)
        self.until_port(445)

    def restart_samba(self):
        self.signal_server(signal.SIGTERM)
        self.server.wait(30)
        self._start_samba("smbd-again.log")

    def second_samba(self, address, shares, env=None):
        """Another smbd, on another address of the same machine, with files of its own."""
        run(f"ip -n server addr add {address}/24 dev eth0")
        state = self.folder / "state2"
        state.mkdir()
        settings = (self.folder / "smb.conf").read_text().partition("\n[")[0]
        text = settings.replace(f"{self.folder}/state", str(state)).replace(SERVER, address).replace("FILESERVER", "NASTWO") + "\n"
        for share in shares:
            path = self.folder / "shares2" / share
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o777)
            text += f"[{share}]\npath = {path}\nread only = no\n"
        configuration = self.folder / "smb2.conf"
        configuration.write_text(text)
        run(["pdbedit", "-s", configuration, "-a", "-t", "-u", "root"], input=f"{PASSWORD}\n{PASSWORD}\n", text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.at("server", "smbd", "--foreground", "--no-process-group", "--debug-stdout", "-s", configuration, log="smbd2.log", env=env)
        self.until_port(445, address)

    def ganesha(self, exports, env=None, core="", protocols="3", version4="Graceless = true;", locks=False):
        state = self.folder / "state"
        state.mkdir()
        self.at("server", "rpcbind", "-f", log="rpcbind.log")
        self.until_port(111)
        text = (f"NFS_CORE_PARAM {{ Protocols = {protocols}; Enable_NLM = {str(locks).lower()}; Enable_RQUOTA = false; mount_path_pseudo = true; MNT_Port = 20048; {core} }}\n"
                f"NFSv4 {{ {version4} RecoveryRoot = {state}; }}\n")
        for number, export in enumerate(exports, 1):
            path = self.folder / "exports" / export
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o777)
            text += (f"EXPORT {{ Export_Id = {number}; Filesystem_Id = {number}.{number}; Path = {path}; Pseudo = /{export}; Access_Type = RW; Attr_Expiration_Time = 1;"
                     f" Squash = None; SecType = sys; Transports = TCP; Protocols = {protocols}; FSAL {{ Name = VFS; }} }}\n")
        configuration = self.folder / "ganesha.conf"
        configuration.write_text(text)
        self.ganesha_command = ["ganesha.nfsd", "-F", "-f", configuration, "-p", state / "pid", "-L", "STDOUT", "-N", "NIV_EVENT"]
        self._start_ganesha("ganesha.log", env)

    def _start_ganesha(self, log, env=None):
        self.server = self.at("server", *self.ganesha_command, log=log, env=env)
        until(lambda: "NFS SERVER INITIALIZED" in (self.folder / log).read_text(), "ganesha", 60)

    def change_export(self, before, after):
        """Edits the exports of a running Ganesha."""
        configuration = self.folder / "ganesha.conf"
        configuration.write_text(configuration.read_text().replace(before, after))
        self.signal_server(signal.SIGHUP)

    def restart_ganesha(self):
        self.server.terminate()
        self.server.wait(30)
        self._start_ganesha("ganesha-again.log")

    def until_port(self, port, address=SERVER):
        command = ["ip", "netns", "exec", "server", "/usr/bin/python3", "-c", f"import socket; socket.create_connection(('{address}', {port}), 1)"]
        until(lambda: subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0, f"port {port}", 30)

    def small_disk(self, path, kilobytes):
        folder = self.folder / path
        folder.mkdir(parents=True)
        run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=777", "disk", folder])
        self.mounted = folder

    def replace_files(self, path):
        """The same files with the same names, and other inodes."""
        folder, copy = self.folder / path, self.folder / "copy"
        shutil.copytree(folder, copy)
        for entry in folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        shutil.copytree(copy, folder, dirs_exist_ok=True)

    def signal_server(self, number):
        """To all processes of the server: smbd has one per client."""
        for process in descendants(self.server.pid):
            os.kill(process, number)

    def end(self):
        """Ends what still runs; the namespaces end with us."""
        for process in self.running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if hasattr(self, "mounted"):
            run(["umount", "-l", self.mounted])

    # Capture.

    def capture(self, output, snap=0, where="server", device="eth0", also=""):
        log = self.folder / "tcpdump.log"
        self.output = Path(output)
        self.tcpdump = self.at(where, "tcpdump", "-i", device, "-n", "-s", str(snap), "-B", "65536", "-Z", "root", "-w", output,
                               f"(tcp and not port 111) {also}", log="tcpdump.log")
        until(lambda: "listening on" in log.read_text(), "tcpdump")

    def finish(self):
        time.sleep(1.5)
        # The group: ip has become tcpdump, but the group is ours whatever it was.
        os.killpg(self.tcpdump.pid, signal.SIGINT)
        self.tcpdump.wait(10)
        said = (self.folder / "tcpdump.log").read_text()
        if "\n0 packets dropped by kernel" not in said:
            raise SystemExit(f"tcpdump dropped packets:\n{said}")
        if hasattr(self, "wire"):
            self.wire[0].terminate()
            self.wire[0].wait(10)
            print("  wire:", self.wire[1].read_text().split("\n")[1])
        print("  tcpdump:", said.strip().replace("\n", ", ").split("bytes, ")[-1])
        run(["zstd", "-q", "-f", "-19", "--rm", self.output])


def until(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not ready after {seconds} s")
        time.sleep(0.05)


def descendants(process):
    listed = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True).stdout
    return [process, *(one for child in listed.split() for one in descendants(int(child)))]
