# SPDX-License-Identifier: Apache-2.0
"""bed.py - a real Ray head with ports and a folder of its own, and a proxy that counts and cuts between it and its clients."""
import json, os, re, shutil, signal, socket, subprocess, sys, tempfile, threading, time, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
NEWEST = "2.60.0"
PEERS = os.environ.get("SLIPWAY_TEST_PEERS", os.path.join(HERE, "../../.cache/peers"))
BLOCK, START_S = 120, 120


def free_block():
    """The first port of BLOCK that are free; below what the kernel hands out by itself."""
    for first in range(12000 + os.getpid() % 37 * BLOCK, 30000, BLOCK):
        try:
            for port in range(first, first + 10):
                with socket.socket() as one:
                    one.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise SystemExit("no free ports")


class Head:
    def __init__(self, version=NEWEST, cpus=4, gpus=1, token=None, first=None, environment=None, host="127.0.0.1"):
        self.ray = os.path.join(PEERS, "ray-" + version)
        if not os.path.exists(self.ray + "/installed"):
            print(f"Ray {version} is not installed (tests/ray/build-ray)")
            raise SystemExit(77)
        self.folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
        self.cpus, self.gpus, self.token, self.more = cpus, gpus, token, environment or {}
        self.first = first or free_block()
        self.host, self.url = host, f"http://{host}:{self.first + 1}"
        self.process = None

    def start(self):
        """On a busy machine Ray gives up on itself after half a minute: then once more."""
        for last in (False, False, True):
            self.begin()
            if self.wait(last):
                break
            self.kill()
        return self

    def begin(self):
        p = self.first
        # A clean one: a process that names a case's folder counts as one of its jobs'.
        environment = {"PATH": self.ray + "/bin:/usr/local/bin:/usr/bin:/bin", "HOME": self.folder, "RAY_USAGE_STATS_ENABLED": "0",
                       "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0", "PYTHONUNBUFFERED": "1", **self.more}
        if self.token:
            environment.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=self.token)
        slots = {f"slot{i}": 1 for i in range(64)}
        self.log = open(self.folder + "/head.log", "wb")
        self.process = subprocess.Popen(
            [self.ray + "/bin/ray", "start", "--head", "--block", "--disable-usage-stats", "--node-ip-address=127.0.0.1", f"--port={p}",
             f"--dashboard-host={self.host}", f"--dashboard-port={p + 1}", f"--dashboard-agent-listen-port={p + 2}",
             f"--dashboard-agent-grpc-port={p + 3}", f"--runtime-env-agent-port={p + 4}", f"--node-manager-port={p + 5}",
             f"--object-manager-port={p + 6}", f"--metrics-export-port={p + 7}", f"--ray-client-server-port={p + 8}",
             f"--min-worker-port={p + 10}", f"--max-worker-port={p + BLOCK - 1}", f"--temp-dir={self.folder}/t",
             f"--num-cpus={self.cpus}", f"--num-gpus={self.gpus}", "--object-store-memory=80000000", f"--resources={json.dumps(slots)}"],
            env=environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)

    def get(self, path, timeout=10):
        request = urllib.request.Request(self.url + path)
        if self.token:
            request.add_header("Authorization", "Bearer " + self.token)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    def wait(self, last):
        """Until it lists jobs, its agent is there, and Ray says that it has started. False: it failed; `last`: that is the end."""
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            try:
                self.get("/api/jobs/")
                with socket.create_connection(("127.0.0.1", self.first + 2), 2):
                    if "Ray runtime started" in open(self.folder + "/head.log", errors="replace").read():
                        return True
            except OSError:
                pass
            time.sleep(0.2)
        if not last:
            return False
        sys.stdout.write(open(self.folder + "/head.log", errors="replace").read()[-4000:])
        raise SystemExit("the Ray head did not start")

    def processes(self):
        """All that belong to it: Ray names its folder in every command line."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = open(f"/proc/{pid}/cmdline", "rb").read()
            except OSError:
                continue
            if self.folder.encode() + b"/t" in words and int(pid) != os.getpid():
                found.append(int(pid))
        return found

    def kill(self):
        """As if its machine had failed."""
        for _ in range(50):
            rest = self.processes()
            for pid in rest:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            if self.process:
                try:
                    os.killpg(self.process.pid, signal.SIGKILL)
                except OSError:
                    pass
            if not rest:
                break
            time.sleep(0.1)
        if self.process:
            self.process.wait()
        self.process = None

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Proxy:
    """Counts the requests that pass, and cuts connections: the answer to the Nth request (cut_reply), or log sockets after so many
    bytes (cut_socket). refuse_socket: no upgrade passes."""

    def __init__(self, real_port):
        self.real, self.requests, self.bytes = real_port, [], 0
        self.cut_reply = self.cut_socket = 0
        self.refuse_socket = False
        self.lock = threading.Lock()
        self.server = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        real = socket.create_connection(("127.0.0.1", self.real))
        state = {"cut": False, "socket": False, "left": 0}
        back = threading.Thread(target=self.pump, args=(real, client, state), daemon=True)
        back.start()
        try:
            while data := client.recv(65536):
                for line in re.findall(rb"(?m)^(GET|POST|PUT|DELETE) (\S+) HTTP/1.1\r$", data):
                    path = line[1].decode()
                    with self.lock:
                        self.requests.append(f"{line[0].decode()} {path}")
                        state["cut"] |= len(self.requests) == self.cut_reply
                    if path.endswith("/logs/tail"):
                        state.update(socket=True, left=self.cut_socket)
                        if self.refuse_socket:
                            client.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                            return
                real.sendall(data)
        except OSError:
            pass
        finally:
            self.end(real, client)

    def pump(self, real, client, state):
        try:
            while data := real.recv(65536):
                self.bytes += len(data)
                if state["cut"]:
                    break
                if state["socket"] and self.cut_socket:
                    data = data[:state["left"]]
                    state["left"] -= len(data)
                    client.sendall(data)
                    if state["left"] <= 0:
                        break
                else:
                    client.sendall(data)
        except OSError:
            pass
        finally:
            self.end(real, client)

    @staticmethod
    def end(*ends):
        for one in ends:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def close(self):
        self.server.close()
