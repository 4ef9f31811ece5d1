# SPDX-License-Identifier: Apache-2.0
"""sshd.py - an sshd on the loopback address with keys of its own. It runs no program for anyone: it only forwards."""
import os, pwd, shutil, socket, subprocess, tempfile, time

SERVER = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/key.pub
PermitRootLogin yes
PasswordAuthentication no
StrictModes no
UsePAM no
MaxStartups 100
MaxSessions 100
ForceCommand /bin/false
"""


class Sshd:
    def __init__(self):
        server = shutil.which("sshd") or "/usr/sbin/sshd"
        if not os.path.exists(server) or not shutil.which("ssh"):
            print("there is no OpenSSH here")
            raise SystemExit(77)
        self.folder = tempfile.mkdtemp(prefix="sshd-", dir="/tmp")
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        for name in ("host", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{self.folder}/{name}"], check=True)
        self.write("server", SERVER.format(port=self.port, folder=self.folder))
        with open(f"{self.folder}/host.pub") as public:
            self.write("known_hosts", f"[127.0.0.1]:{self.port} {public.read()}")
        self.process = subprocess.Popen([server, "-D", "-f", f"{self.folder}/server", "-E", f"{self.folder}/log"])
        self.address = f"ssh://{pwd.getpwuid(os.geteuid()).pw_name}@127.0.0.1:{self.port}"
        self.environment = {"RAY_ADDRESS": self.address, "RAY_SSH_KEY": f"{self.folder}/key", "RAY_KNOWN_HOSTS": f"{self.folder}/known_hosts"}
        until = time.monotonic() + 30
        while time.monotonic() < until and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 2).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(open(f"{self.folder}/log").read())

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w") as out:
            out.write(text)

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
