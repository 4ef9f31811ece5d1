# SPDX-License-Identifier: Apache-2.0
"""engine_api.py - the Engine API over its socket, and the image that tests use; for scripts in this folder."""
import http.client
import io
import shutil
import socket
import subprocess
import tarfile

SKIP = 77


def busybox_tar():
    """A root folder made of Debian's static busybox: every applet a link, one user besides root."""
    busybox = shutil.which("busybox")
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        def add(name, content=b"", mode=0o644, kind=tarfile.REGTYPE, link="", owner=0):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.type, entry.linkname = len(content), mode, kind, link
            entry.uid = entry.gid = owner
            tar.addfile(entry, io.BytesIO(content))
        for folder in ("bin", "etc", "root", "home", "proc", "sys", "dev"):
            add(folder, mode=0o755, kind=tarfile.DIRTYPE)
        add("tmp", mode=0o1777, kind=tarfile.DIRTYPE)
        add("home/user", mode=0o755, kind=tarfile.DIRTYPE, owner=1000)
        add("bin/busybox", open(busybox, "rb").read(), 0o755)
        for applet in sorted(set(applets.stdout.split()) - {"busybox"}):
            add(f"bin/{applet}", mode=0o777, kind=tarfile.SYMTYPE, link="busybox")
        add("bin/bash", b"#!/bin/sh\nexec /bin/sh \"$@\"\n", 0o755)
        add("etc/passwd", b"root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n")
        add("etc/group", b"root:x:0:\nuser:x:1000:\n")
    return packed.getvalue()


class Engine(http.client.HTTPConnection):
    """The Engine API over its socket, for this script and the tests in Python."""
    def __init__(self, path, timeout=60):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def ask(self, method, path, body=None, headers=None):
        self.request(method, path, body, headers or {})
        reply = self.getresponse()
        return reply.status, reply.read()


def make_image(path, name="slipway-test", tag="busybox"):
    status, said = Engine(path).ask(
        "POST", f"/v1.40/images/create?fromSrc=-&repo={name}&tag={tag}"
        "&changes=ENV%20PATH%3D%2Fbin&changes=CMD%20%5B%22%2Fbin%2Fsh%22%5D",
        busybox_tar(), {"Content-Type": "application/x-tar"})
    if status != 200 or b"error" in said:
        raise RuntimeError(f"the image was not made: {status} {said[:300]}")
    return f"{name}:{tag}"
