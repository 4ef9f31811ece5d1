# SPDX-License-Identifier: Apache-2.0
#
# ssh_faults.py - a proxy between a client and a login host that breaks on command.
#
# A listener on this machine that passes bytes to the host's sshd. One fault at a time is armed; it happens when so many
# more bytes have gone in one direction, and then once: the connection is cut, is silent for a while, says nothing any
# more, or the sshd process that serves it is killed.
import os
import signal
import socket
import threading
import time

KINDS = ("cut", "delay", "mute", "kill")
UP, DOWN = "up", "down"


class Proxy:
    def __init__(self, host, port=22):
        self.target = (host, port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.fault = None                               # [kind, direction, bytes left]
        self.happened = []
        threading.Thread(target=self.serve, daemon=True).start()

    def arm(self, kind, direction, count):
        with self.lock:
            self.fault = [kind, direction, count]

    def disarm(self):
        with self.lock:
            self.fault = None

    def close(self):
        self.listener.close()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target)
            except OSError:
                return
            muted = threading.Event()
            for a, b, direction in ((client, server, UP), (server, client, DOWN)):
                threading.Thread(target=self.pump, args=(a, b, direction, server, muted), daemon=True).start()

    def due(self, direction, length):
        """The fault, when these bytes are the ones that it waited for."""
        with self.lock:
            if not self.fault or self.fault[1] != direction:
                return None
            self.fault[2] -= length
            if self.fault[2] > 0:
                return None
            kind, self.fault = self.fault[0], None
            self.happened.append(kind)
            return kind

    def pump(self, source, to, direction, server, muted):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                kind = self.due(direction, len(data))
                if kind == "cut":
                    break
                if kind == "delay":
                    time.sleep(1.5)
                if kind == "mute":
                    muted.set()
                if kind == "kill":
                    kill_session(server.getsockname()[1])
                if not muted.is_set():
                    to.sendall(data)
        except OSError:
            pass
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def inodes_of(port):
    """Sockets here whose other end has this port: those of the sshd that serves us."""
    found = set()
    with open("/proc/net/tcp", encoding="ascii") as file:
        for row in file.read().splitlines()[1:]:
            words = row.split()
            if int(words[2].split(":")[1], 16) == port and words[3] == "01":
                found.add(words[9])
    return found


def kill_session(port):
    wanted = {f"socket:[{inode}]" for inode in inodes_of(port)}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if not file.read().startswith("sshd"):
                    continue
            if any(os.readlink(f"/proc/{pid}/fd/{fd}") in wanted for fd in os.listdir(f"/proc/{pid}/fd")):
                os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass
