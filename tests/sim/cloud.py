# SPDX-License-Identifier: Apache-2.0
"""cloud.py - what the stand-ins for cloud services share: HTTP, strict bodies, faults, and jobs that really run.

A stand-in is a program `NAME FOLDER SOCKET [PORT]`: a subclass of Cloud with its routes, then `serve(NAME)`.

    FOLDER/port            where it listens on 127.0.0.1
    FOLDER/settings.json   what a test wants otherwise than the service's `defaults`; read again when it changes
    FOLDER/faults          makes it fail, in the words of tests/contract/cases_faults.c, and FAULTS below
    FOLDER/requests        one line for each request: method, path with query, status; never a body
    SOCKET                 the Docker engine that runs its jobs ("": there is none, and jobs wait for ever)

All it knows is in FOLDER and in the engine: one that was killed and started again knows its jobs. A replica of a
job is one container with exactly the variables and the command it was given; its log is copied while it runs, with
a time in nanoseconds before each line, and stays when the container is gone.
"""
import dataclasses
import datetime
import functools
import hashlib
import http.server
import json
import mmap
import os
import pathlib
import random
import re
import struct
import sys
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "docker"))
from engine_api import Engine  # noqa: E402

BODY_MOST = 3 << 20                      # what a Kubernetes API server takes in one request
PIECE = 16384                            # how much of a line the engine takes at once
STAMP = 20                               # nanoseconds of 19 digits, and a space
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def suffix(length):
    return "".join(random.choice(LETTERS) for _ in range(length))


def write(path, data):
    new = path.with_name(f"{path.name}.{suffix(8)}.new")     # all of it or nothing
    new.touch(0o600)
    new.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    os.replace(new, path)


@functools.lru_cache(maxsize=64)
def whole_seconds(said):
    return int(datetime.datetime.fromisoformat(said.decode() + "+00:00").timestamp())


def nanoseconds(said):
    """Of the engine's way to write a time: b"2026-01-31T12:00:00.123456789Z", perhaps with fewer digits."""
    return whole_seconds(said[:19]) * 10**9 + int(said[20:29].rstrip(b"Z").ljust(9, b"0"))


# ---- bodies: a table of checks, one for each field -------------------------------------------------

class Refused(Exception):
    """A request that is answered with an error: its status, words for a person, the service's own word."""
    def __init__(self, status, message, code=None, headers=()):
        super().__init__(message)
        self.status, self.message, self.code, self.headers = status, message, code, headers


def invalid(at, why):
    raise Refused(422, f"{at or 'body'}: {why}")


def text(most=253, pattern=None, among=(), least=1):
    def check(value, at):
        if not isinstance(value, str):
            invalid(at, "must be a string")
        if not least <= len(value.encode()) <= most:
            invalid(at, f"must have {least} to {most} bytes")
        if pattern and not re.fullmatch(pattern, value) or among and value not in among:
            invalid(at, f"must be one of {', '.join(among)}" if among else f"must match {pattern}")
    return check


def number(low=0, high=(1 << 31) - 1):
    def check(value, at):
        if isinstance(value, bool) or not isinstance(value, int):
            invalid(at, "must be an integer")
        if not low <= value <= high:
            invalid(at, f"must be from {low} to {high}")
    return check


def real(low=0, high=1e9):
    def check(value, at):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            invalid(at, f"must be a number from {low} to {high}")
    return check


def flag():
    def check(value, at):
        if not isinstance(value, bool):
            invalid(at, "must be true or false")
    return check


def items(of, least=0, most=1000):
    def check(value, at):
        if not isinstance(value, list) or not least <= len(value) <= most:
            invalid(at, f"must be a list of {least} to {most}")
        for index, item in enumerate(value):
            of(item, f"{at}[{index}]")
    return check


def table(key, of, most=64):
    def check(value, at):
        if not isinstance(value, dict) or len(value) > most:
            invalid(at, f"must be an object of at most {most} keys")
        for name, item in value.items():
            key(name, f"key '{name}' of {at}")
            of(item, f"{at}.{name}")
    return check


def fields(known, required=()):
    """An object with these fields and no others; absent ones are left out, never null."""
    def check(value, at):
        if not isinstance(value, dict):
            invalid(at, "must be an object")
        for name in required:
            if name not in value:
                invalid(f"{at}.{name}".lstrip("."), "is required")
        for name, item in value.items():
            if name not in known:
                invalid(f"{at}.{name}".lstrip("."), "is unknown")
            known[name](item, f"{at}.{name}".lstrip("."))
    return check


def digits(low=0, high=(1 << 63) - 1):
    """A number in a query."""
    def check(value, at):
        if not re.fullmatch(r"\d{1,19}", value) or not low <= int(value) <= high:
            raise Refused(400, f"{at}: must be a number from {low} to {high}")
    return check


def words(among):
    """One of some words in a query."""
    def check(value, at):
        if value not in among:
            raise Refused(400, f"{at}: must be one of {', '.join(among)}")
    return check


def anything(value, at):
    """Any word in a query."""
    if len(value) > 4096:
        raise Refused(400, f"{at}: is too long")


# ---- what is kept in the folder --------------------------------------------------------------------

class Shelf:
    """Objects by name, each a file; all of them are also in memory."""
    def __init__(self, folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        self.folder = folder
        self.all = {path.stem: json.loads(path.read_bytes()) for path in folder.glob("*.json")}

    def put(self, name, value):
        write(self.folder / f"{name}.json", value)
        self.all[name] = value

    def remove(self, name):
        self.all.pop(name, None)
        (self.folder / f"{name}.json").unlink(missing_ok=True)


class Watched:
    """A file that tests write while the server runs; read again when it changed."""
    def __init__(self, path):
        self.path, self.seen, self.bytes = path, None, b""

    def read(self):
        """Its bytes, and whether they are new."""
        try:
            found = self.path.stat()
            seen = (found.st_mtime_ns, found.st_ino, found.st_size)
        except FileNotFoundError:
            seen = ()
        if seen == self.seen:
            return self.bytes, False
        self.bytes, self.seen = self.path.read_bytes() if seen else b"", seen
        return self.bytes, True


class Faults:
    """What FOLDER/faults says. A number is how many requests; without one, all of them."""
    #   down: the connection is closed      slow 50ms: each request waits     lose-answer: done, but not answered
    #   empty-list: lists are empty         not-found-then-found: the next list is empty
    #   busy: 429, plain text, Retry-After  broken: 502, the page of a proxy  cut: half of the answer
    WORDS = re.compile(r"(down|slow|empty-list|lose-answer|busy|broken|cut)(?: (\d+))?")

    def __init__(self, path):
        self.file, self.left, self.lock = Watched(path), {}, threading.Lock()

    def take(self, what, really=True):
        """Is this request to fail so? `slow` says for how long."""
        with self.lock:
            said, new = self.file.read()
            if new:
                plain = said.decode().replace("not-found-then-found", "empty-list 1").replace("lose-answer",
                                                                                              "lose-answer 1")
                self.left = {name: int(count or 1 << 30) for name, count in self.WORDS.findall(plain)}
            left = self.left.get(what, 0) if really else 0
            if left and what != "slow":
                self.left[what] = left - 1
            return left


# ---- jobs that run -----------------------------------------------------------------------------------

class NotRunnable(Exception):
    """A replica that cannot be made: no such image, no such folder."""


@dataclasses.dataclass
class Replica:
    """One container. `hosts` are the names by which the others of its run find it; none: it is alone."""
    name: str
    image: str
    command: list                        # empty: what the image says
    env: dict
    mounts: list = dataclasses.field(default_factory=list)     # (folder here, path there, read only)
    hosts: list = dataclasses.field(default_factory=list)
    memory: int = 0                      # bytes; 0: no limit
    shm: int = 64 << 20
    user: str = ""
    workdir: str = ""
    hostname: str = ""


class Log:
    """The lines of one replica in a file: time, space, line; times never go back."""
    def __init__(self, path):
        data = path.read_bytes() if path.exists() else b""
        whole = data[:data.rfind(b"\n") + 1]                       # the rest was being written when the server died
        tail = whole[whole.rfind(b"\n", 0, len(whole) - 1) + 1:]
        self.last = int(tail[:STAMP - 1]) if tail else 0
        self.same = whole.count(b"%019d " % self.last) if tail else 0      # lines of that very time
        self.file = open(path, "wb" if not data else "r+b", 0)
        self.file.truncate(len(whole))
        self.file.seek(len(whole))
    def copy(self, reply):
        """The engine's stream, from the time of the last line on. A long line comes in pieces of PIECE bytes with the
        same time; neither the last nor any other of them has an end of line."""
        self.skip, open_lines, second, base = self.same, {}, b"", 0
        for frames in self.frames(reply):
            out = []
            for kind, frame in frames:
                if frame[29:31] == b"Z " and frame.endswith(b"\n") and not open_lines and not self.skip:
                    if frame[:19] != second:                        # the usual line, as quick as it goes
                        second, base = frame[:19], whole_seconds(frame[:19]) * 10**9
                    begun = base + int(frame[20:29])
                    self.last, self.same = (begun, 1) if begun > self.last else (self.last, self.same + 1)
                    out.append(b"%019d %s" % (self.last, frame[31:]))
                    continue
                stamp, _, said = frame.partition(b" ")
                begun, held = nanoseconds(stamp), open_lines.pop(kind, None)
                if held and held[0] != begun:
                    out += self.kept(*held)
                    held = None
                line = held[1] + said if held else said
                if said.endswith(b"\n") or len(said) < PIECE:
                    out += self.kept(begun, line)
                else:
                    open_lines[kind] = (begun, line)
            self.file.write(b"".join(out))
        self.file.write(b"".join(line for held in open_lines.values() for line in self.kept(*held)))

    @staticmethod
    def frames(reply):
        """Lists of (stream, bytes), as many as came at once."""
        left = b""
        while piece := reply.read1(1 << 18):
            left, at, found = left + piece, 0, []
            while len(left) - at >= 8:
                kind, size = struct.unpack_from(">BxxxL", left, at)
                if len(left) - at - 8 < size:
                    break
                found.append((kind, left[at + 8:at + 8 + size]))
                at += 8 + size
            left = left[at:]
            yield found

    def kept(self, begun, line):
        """The line as it is written; nothing, when it was copied before."""
        if self.skip and begun <= self.last:
            self.skip -= 1
            return ()
        self.last, self.same = (begun, 1) if begun > self.last else (self.last, self.same + 1)
        return (b"%019d %s\n" % (self.last, line[:-1] if line.endswith(b"\n") else line),)

    def close(self):
        self.file.close()


class Lines:
    """The lines of a log between two times, from either end."""
    def __init__(self, path):
        try:
            with open(path, "rb") as file:
                self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self.end = self.data.rfind(b"\n") + 1
        except (FileNotFoundError, ValueError):                    # none, or empty
            self.data, self.end = b"", 0

    def offset(self, when):
        """Where the first line of that time or later begins."""
        low, high = 0, self.end
        while low < high:
            begin = self.data.rfind(b"\n", 0, (low + high) // 2) + 1
            if int(self.data[begin:begin + STAMP - 1]) < when:
                low = self.data.find(b"\n", begin) + 1
            else:
                high = begin
        return low

    def forward(self, start, end, words=b""):
        """`words`: lines that cannot have them are left out, so that few are looked at in a long log."""
        at, stop = self.offset(start), self.offset(end)
        while at < stop:
            if words:
                found = self.data.find(words, at, stop)
                if found < 0:
                    return
                at = max(at, self.data.rfind(b"\n", at, found) + 1)
            newline = self.data.find(b"\n", at)
            yield int(self.data[at:at + STAMP - 1]), self.data[at + STAMP:newline]
            at = newline + 1

    def line_starts_backward(self, first=0, at=None):
        at = self.end if at is None else at
        while at > first:
            at = self.data.rfind(b"\n", 0, at - 1) + 1
            yield at

    def backward(self, start, end, words=b""):
        first, at = self.offset(start), self.offset(end)
        while at > first:
            if words:
                found = self.data.rfind(words, first, at)
                if found < 0:
                    return
                at = self.data.find(b"\n", found) + 1
            at = self.data.rfind(b"\n", 0, at - 1) + 1
            yield int(self.data[at:at + STAMP - 1]), self.data[at + STAMP:self.data.find(b"\n", at)]

    def after(self, at):
        """From a place in the file on: (place after it, line with its end)."""
        while at < self.end:
            begin, at = at, self.data.find(b"\n", at) + 1
            yield at, self.data[begin + STAMP:at]


class Fleet:
    """Runs: each some replicas that begin together. What became of them is in FOLDER/runs/RUN/NUMBER.json, and what
    they said in NUMBER.log; a thread stays with each of them."""
    LABEL = "slipway.sim"

    def __init__(self, folder, socket, news):
        self.folder, self.socket, self.news = folder / "runs", socket, news
        self.folder.mkdir(exist_ok=True)
        self.mark = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
        self.stopping, self.known, self.lock = set(), {}, threading.Lock()
        filters = urllib.parse.quote(json.dumps({"label": [f"{self.LABEL}={self.mark}"]}))
        for found in self.ask("GET", f"/containers/json?all=1&filters={filters}") if socket else []:
            run, index = found["Labels"][f"{self.LABEL}.replica"].rsplit(":", 1)
            if found["State"] != "created":                         # else its job begins it again
                self.follow(run, int(index))

    def ask(self, method, path, body=None, timeout=120, fine=(404, 304)):
        engine = Engine(self.socket, timeout)
        status, said = engine.ask(method, f"/v1.40{path}", json.dumps(body) if body is not None else None,
                                  {"Content-Type": "application/json"} if body is not None else {})
        engine.close()
        answer = json.loads(said) if said.strip() else {}
        if status >= 400 and status not in fine:
            raise NotRunnable(answer.get("message", f"status {status}"))
        return answer if status < 300 else None

    def container(self, run, index):
        return f"sim-{self.mark}-{run}-{index}"

    def file(self, run, index, kind):
        return self.folder / run / f"{index}.{kind}"

    def network(self, run):
        """One for the run alone, with addresses that are known before it begins."""
        name = f"sim-{self.mark}-{run}"
        found = self.ask("GET", f"/networks/{name}")
        for _ in range(0 if found else 50):
            subnet = f"10.{random.randrange(32, 224)}.{random.randrange(256)}"
            try:
                found = self.ask("POST", "/networks/create", {
                    "Name": name, "CheckDuplicate": True, "Labels": {self.LABEL: self.mark},
                    "IPAM": {"Config": [{"Subnet": f"{subnet}.0/24", "Gateway": f"{subnet}.1"}]}}) and self.ask(
                        "GET", f"/networks/{name}")
                break
            except NotRunnable as why:
                if "overlap" not in str(why):
                    raise
        return name, found["IPAM"]["Config"][0]["Subnet"].rsplit(".", 1)[0]

    def create(self, run, index, replica, network, subnet, names):
        host = {"Binds": [f"{source}:{target}{':ro' if fixed else ''}" for source, target, fixed in replica.mounts],
                "Memory": replica.memory, "MemorySwap": replica.memory, "ShmSize": replica.shm, "PidsLimit": 32768,
                "NetworkMode": network or "host", "ExtraHosts": names,
                "LogConfig": {"Type": "local", "Config": {"max-size": "1t", "max-file": "1", "compress": "false"}}}
        body = {"Image": replica.image, "Env": [f"{name}={value}" for name, value in replica.env.items()],
                "User": replica.user, "WorkingDir": replica.workdir, "HostConfig": host,
                "Labels": {self.LABEL: self.mark, f"{self.LABEL}.replica": f"{run}:{index}"}}
        if replica.command:
            body.update(Entrypoint=replica.command, Cmd=[])
        if network:
            body["Hostname"] = replica.hostname or replica.name[:63]
            body["NetworkingConfig"] = {"EndpointsConfig": {network: {"IPAMConfig": {
                "IPv4Address": f"{subnet}.{index + 2}"}}}}
        for source, _, _ in replica.mounts:
            if not os.path.exists(source):
                raise NotRunnable(f"mount point not found: {source}")
        name = self.container(run, index)
        if self.ask("POST", f"/containers/create?name={name}", body, fine=(404, 409)) is None and (
                self.ask("GET", f"/containers/{name}/json") is None):
            raise NotRunnable(f"failed to pull image \"{replica.image}\": not found")

    def start(self, run, replicas):
        """Begins all of them or none. Called again for a run that began: nothing happens."""
        (self.folder / run).mkdir(exist_ok=True)
        together = any(replica.hosts for replica in replicas)
        network, subnet = self.network(run) if together else (None, None)
        names = [f"{name}:{subnet}.{index + 2}" for index, replica in enumerate(replicas) for name in replica.hosts]
        try:
            for index, replica in enumerate(replicas):
                if not self.file(run, index, "json").exists():
                    self.create(run, index, replica, network, subnet, names)
        except NotRunnable:
            self.forget(run, len(replicas))
            raise
        for index in range(len(replicas)):
            if not self.file(run, index, "json").exists():
                self.ask("POST", f"/containers/{self.container(run, index)}/start")
                self.follow(run, index)

    def forget(self, run, count):
        for index in range(count):
            self.ask("DELETE", f"/containers/{self.container(run, index)}?force=1&v=1")
        self.ask("DELETE", f"/networks/sim-{self.mark}-{run}")

    def follow(self, run, index):
        """Starts the thread that stays with a replica to its end."""
        with self.lock:
            if (run, index) in self.known:
                return
            self.known[run, index] = {"state": "running"}
        threading.Thread(target=self.stay, args=(run, index), daemon=True).start()

    def stay(self, run, index):
        name, log = self.container(run, index), Log(self.file(run, index, "log"))
        while True:
            found = self.ask("GET", f"/containers/{name}/json")
            state = found["State"] if found else {"Status": "gone", "ExitCode": 137, "OOMKilled": False}
            if found:
                self.known[run, index]["started"] = nanoseconds(state["StartedAt"].encode())
            over = state["Status"] not in ("running", "created", "restarting", "paused")
            if found:
                engine = Engine(self.socket, None)                  # as long as it runs
                engine.request("GET", f"/v1.40/containers/{name}/logs?stdout=1&stderr=1&timestamps=1&follow="
                               f"{int(not over)}&since={log.last // 10**9}.{log.last % 10**9:09d}")
                log.copy(engine.getresponse())
                engine.close()
            if over:
                break
        log.close()
        now = time.time_ns()
        end = {"state": "ended", "exit_code": state["ExitCode"], "oom": state["OOMKilled"],
               "started": self.known[run, index].get("started", now),
               "ended": nanoseconds(state["FinishedAt"].encode()) if found else now}
        write(self.file(run, index, "json"), end)
        self.known[run, index] = end
        self.ask("DELETE", f"/containers/{name}?force=1&v=1", fine=(404, 409))
        self.ask("DELETE", f"/networks/sim-{self.mark}-{run}", fine=(404, 403))      # the last of them does
        self.news()

    def replica(self, run, index):
        """{"state": "none" | "running" | "ended", ...}"""
        found = self.known.get((run, index))
        if not found and self.file(run, index, "json").exists():
            found = self.known[run, index] = json.loads(self.file(run, index, "json").read_bytes())
        return found or {"state": "none"}

    def stop(self, run, count, grace):
        """TERM once, KILL when the seconds are over; returns at once."""
        for index in range(count):
            if self.replica(run, index)["state"] == "running" and (run, index) not in self.stopping:
                self.stopping.add((run, index))
                threading.Thread(target=self.ask, daemon=True, args=(
                    "POST", f"/containers/{self.container(run, index)}/stop?t={grace}", None, grace + 120)).start()

    def lines(self, run, index):
        return Lines(self.file(run, index, "log"))


# ---- HTTP ----------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Answer:
    body: object = None                  # JSON; bytes as they are; None: nothing
    status: int = 200
    kind: str = "application/json"
    headers: tuple = ()
    pieces: object = None                # an iterator of bytes instead of a body
    takes: object = None                 # a function that gets the connection and answers by itself: an upgrade


def route(method, path, query=None, body=None, lists=False, creates=False, open_to_all=False, form=False):
    """A function of the cloud for requests like that. `path` has {names}; `query` and `body` are tables of checks.
    The function gets a Request; it returns JSON, an Answer or None."""
    def mark(function):
        pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))
        function.route = {"method": method, "pattern": pattern, "query": query or {}, "body": body, "lists": lists,
                          "creates": creates, "open": open_to_all, "form": form}
        return function
    return mark


class Request:
    """One that passed the checks: names of the path, query (lists), body, headers, who asks."""
    def __init__(self, names, query, body, headers, caller):
        self.names, self.all, self.body, self.headers, self.caller = names, query, body, headers, caller
        self.query = {name: values[-1] for name, values in query.items()}


class Cloud:
    """Subclasses have routes, `base` (the path before them), `defaults` of settings, and the four below."""
    base, defaults = "", {}
    codes = {}                           # the service's word for a status

    def __init__(self, folder, socket):
        self.folder, self.lock, self.wake = folder, threading.RLock(), threading.Event()
        self.file, self.said = Watched(folder / "settings.json"), {}
        self.faults = Faults(folder / "faults")
        self.fleet = Fleet(folder, socket, self.wake.set)
        self.log = open(folder / "requests", "ab", 0)
        self.routes = sorted((getattr(self, name) for name in dir(type(self)) if hasattr(getattr(self, name), "route")),
                             key=lambda function: function.route["pattern"].groups)      # plain words come first

    @property
    def settings(self):
        with self.lock:
            said, new = self.file.read()
            if new:
                self.said = {**self.defaults, **json.loads(said or b"{}")}
            return self.said

    def error(self, refused):
        """The body of an error, as this service writes it."""
        return {"code": refused.code or self.codes.get(refused.status, "Error"), "message": refused.message}

    def caller(self, headers):
        """Who asks; Refused 401 or 403."""
        raise NotImplementedError

    def empty_list(self):
        """What a list without entries looks like."""
        return []

    def advance(self):
        """Begins what may begin and notes what ended; called when something happened, and now and then."""

    # -- one request

    def find(self, method, path):
        there = [(function, match) for function in self.routes
                 if (match := function.route["pattern"].fullmatch(path))]
        for function, match in there:
            if function.route["method"] == method:
                return function, {name: urllib.parse.unquote(value) for name, value in match.groupdict().items()}
        raise Refused(405 if there else 404, f"there is no {method} {path}")

    def read_query(self, rule, url):
        query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
        for name, values in query.items():
            if name not in rule["query"]:
                raise Refused(400, f"query parameter '{name}' is unknown")
            check = rule["query"][name]
            if len(values) > 1 and not getattr(check, "many", False):
                raise Refused(400, f"query parameter '{name}' is there twice")
            for value in values:
                check(value, name)
        return query

    def read_body(self, rule, headers, data):
        if rule["body"] is None:
            if data:
                raise Refused(400, "there is a body, and none is expected")
            return None
        kind = "application/x-www-form-urlencoded" if rule["form"] else "application/json"
        if headers.get_content_type() != kind:
            raise Refused(415, f"the content type must be {kind}")
        try:
            body = dict(urllib.parse.parse_qsl(data.decode(), strict_parsing=True)) if rule["form"] else json.loads(
                data, object_pairs_hook=self.once)
        except ValueError as why:
            raise Refused(400, f"the body cannot be read: {why}") from None
        rule["body"](body, "")
        return body

    @staticmethod
    def once(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key is there twice")
        return dict(pairs)

    def answer(self, method, url, headers, data):
        """The Answer, and whether the request created something."""
        if not url.path.startswith(self.base):
            raise Refused(404, f"there is no {url.path}")
        function, names = self.find(method, url.path[len(self.base):])
        rule = function.route
        caller = None if rule["open"] else self.caller(headers)
        if "Upgrade" not in headers and not re.search(r"application/json|\*/\*", headers.get("Accept", "")):
            raise Refused(406, "the Accept header must name application/json")
        query = self.read_query(rule, url)
        body = self.read_body(rule, headers, data)
        if rule["lists"] and self.faults.take("empty-list"):
            return Answer(self.empty_list()), False
        said = function(Request(names, query, body, headers, caller))
        return said if isinstance(said, Answer) else Answer(said), rule["creates"]


def many(check):
    """A parameter that may be there several times."""
    def each(value, at):
        check(value, at)
    each.many = True
    return each


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, cloud, timeout = "HTTP/1.1", None, 600

    def read(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            self.close_connection = True
            raise Refused(411, "the length of the body must be told")
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_MOST:
            self.close_connection = True
            raise Refused(413, f"a body has at most {BODY_MOST} bytes")
        return self.rfile.read(length)

    def date_time_string(self, timestamp=None):
        return super().date_time_string(timestamp or time.time() + self.cloud.settings.get("clock_ahead_s", 0))

    def note(self, status):
        self.cloud.log.write(f"{self.command} {self.path} {status}\n".encode())

    def handle_call(self):
        faults, created = self.cloud.faults, False
        try:
            data = self.read()
            time.sleep(faults.take("slow") / 1000)
            if faults.take("down"):
                self.close_connection = True
                return self.note(0)
            if faults.take("broken"):
                answer = Answer(b"<html><body>502 Bad Gateway</body></html>", 502, "text/html")
            elif faults.take("busy"):
                answer = Answer(b"too many requests, please slow down\n", 429, "text/plain", (("Retry-After", "1"),))
            else:
                answer, created = self.cloud.answer(self.command, urllib.parse.urlsplit(self.path), self.headers, data)
        except Refused as why:
            answer = Answer(self.cloud.error(why), why.status, headers=why.headers)
            if why.status == 429:
                answer = Answer(why.message.encode(), 429, "text/plain", why.headers)
        self.note(answer.status)
        if created and faults.take("lose-answer"):
            self.close_connection = True
            return None
        return self.send(answer)

    def send(self, answer):
        if answer.takes:
            self.close_connection = True
            return answer.takes(self.connection)
        body = answer.body if isinstance(answer.body, bytes) else (
            b"" if answer.body is None else json.dumps(answer.body).encode())
        self.send_response(answer.status)
        for name, value in (("Content-Type", answer.kind), ("x-request-id", suffix(12)), *answer.headers,
                            ("Transfer-Encoding", "chunked") if answer.pieces else ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        if not answer.pieces and body and self.cloud.faults.take("cut"):
            self.close_connection = True
            body = body[:len(body) // 2]
        self.wfile.write(body)
        for piece in answer.pieces or ():
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if piece else b"")
        self.wfile.write(b"0\r\n\r\n" if answer.pieces else b"")
        return None

    def handle(self):
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            pass

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_call

    def log_message(self, *_):
        """Quiet."""


class Server(http.server.ThreadingHTTPServer):
    request_queue_size, daemon_threads = 256, True


def serve(kind):
    """The whole program: NAME FOLDER SOCKET [PORT]."""
    folder, socket, port = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int((*sys.argv, 0)[3])
    cloud = Handler.cloud = kind(folder, socket)
    server = Server(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    write(folder / "port", str(server.server_address[1]).encode())
    while True:
        cloud.wake.wait(0.2)
        cloud.wake.clear()
        cloud.advance()
