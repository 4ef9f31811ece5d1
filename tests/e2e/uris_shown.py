#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A signed URL and a password in a URL stand in nothing that is written: output, logs, rows, events, hooks, report.

    uris_shown.py TOOLS_FOLDER SLIPWAY

What fetches has to know the URL, so the plan of a job holds it, and so does the request that the plan was made from:
plan.json and payload.json below the state folder, plan and request in the store. Those are the exceptions, and only
their owner may read them.
"""
import http.server
import os
import socketserver
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from claims_told import claim, finish  # noqa: E402

SLIPWAY = os.path.abspath(sys.argv[2])
CANARIES = (b"SIGCANARY", b"PWCANARY")
MAY_KNOW = ("plan.json", "payload.json", "launch.json")


class Files(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        known = self.path.startswith("/x?")
        body = b"content\n" if known else b"no\n"
        self.send_response(200 if known else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = answer

    def do_POST(self):
        self.posted.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

    posted = []


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


class Home:
    def __init__(self, folder):
        self.folder = folder
        self.said = []
        self.environment = {**os.environ, "HOME": folder, "SLIPWAY_STATE_DIR": f"{folder}/state",
                            "XDG_CONFIG_HOME": f"{folder}/config",
                            "DOCKER_HOST": "unix:///nonexistent/docker.sock"}

    def slipway(self, *words, stdin=""):
        done = subprocess.run([SLIPWAY, *words], env=self.environment, input=stdin.encode(), capture_output=True,
                              timeout=90, cwd=self.folder)
        self.said.append((" ".join(words), done.stdout + done.stderr))
        return done

    def wait_for_hooks(self, count):
        until = time.monotonic() + 30
        while time.monotonic() < until:
            events = self.slipway("events", "-o", "json").stdout.splitlines()
            if sum(b'"hook"' in line for line in events) >= count:
                return True
            time.sleep(0.1)
        return False


def leaks_said(home):
    return [words for words, said in home.said if any(canary in said for canary in CANARIES)]


def leaks_written(home):
    """Files that hold a canary; those that may must be their owner's alone."""
    found = []
    for folder, _, names in os.walk(home.folder):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path) or name == "job.yaml" or "jobs.db" in name or name.startswith("slipway.db"):
                continue
            with open(path, "rb") as content:
                holds = any(canary in content.read() for canary in CANARIES)
            if holds and (name not in MAY_KNOW or os.stat(path).st_mode & 0o077):
                found.append(f"{path} {oct(os.stat(path).st_mode)}")
    return found


def leaks_stored(home):
    """Columns of the store that hold a canary, but for plan and request."""
    found = []
    for folder, _, names in os.walk(f"{home.folder}/state"):
        for name in names:
            if not name.endswith(".db"):
                continue
            store = sqlite3.connect(f"file:{folder}/{name}?mode=ro", uri=True)
            for (table,) in store.execute("select name from sqlite_master where type='table'").fetchall():
                rows = store.execute(f"select * from {table}")
                columns = [column[0] for column in rows.description]
                for row in rows:
                    found += [f"{table}.{column}" for column, value in zip(columns, row)
                              if column not in ("plan", "request") and any(canary in str(value).encode() for canary in CANARIES)]
            store.close()
    return sorted(set(found))


def leaks_in_report(path):
    with tarfile.open(path) as packed:
        return [member.name for member in packed if member.isfile() and
                any(canary in packed.extractfile(member).read() for canary in CANARIES)]


def copies(home, port, deaf):
    signed, user = f"http://127.0.0.1:{port}/x?X-Amz-Signature=SIGCANARY", f"http://user:PWCANARY@127.0.0.1:{port}/x"
    home.slipway("cp", signed, "./here")
    with open(f"{home.folder}/here", "rb") as content:
        claim("a signed URL is fetched", content.read() == b"content\n")
    for words in (("cp", "-o", "json", signed, "./there"), ("cp", user, "./no"),
                  ("cp", f"https://127.0.0.1:{deaf}/x?X-Amz-Signature=SIGCANARY", "./no"), ("cp", "here", f"{signed}&put=1"),
                  ("cp", "-r", signed + "/", "./tree"), ("ls", signed), ("ls", "-o", "json", signed), ("ls", user),
                  ("check", signed), ("check", "-o", "json", signed), ("check", user),
                  ("check", f"http://127.0.0.1:{port}/gone?q=SIGCANARY")):
        home.slipway(*words)
    claim("cp, ls and check show neither", not leaks_said(home), str(leaks_said(home)))


def jobs(home, port, deaf):
    hook = (f"hooks: {{on_complete: 'env > {home.folder}/hook-complete', on_error: 'env > {home.folder}/hook-error'}}\n"
            f"notify: {{webhook: 'http://user:PWCANARY@127.0.0.1:{deaf}/?t=SIGCANARY'}}\n")
    for name, uri in (("good", f"http://127.0.0.1:{port}/x?X-Amz-Signature=SIGCANARY"),
                      ("gone", f"http://127.0.0.1:{port}/gone?X-Amz-Signature=SIGCANARY"),
                      ("named", f"http://user:PWCANARY@127.0.0.1:{port}/x")):
        job = (f"name: {name}\ncommand: cat /in/x\nretry: {{max: 0}}\n"
               f"inputs: {{/in/x: '{uri}'}}\n{hook}")
        ran = home.slipway("run", "-f", "-", stdin=job)
        if name == "good":
            claim("a job's signed input is fetched", ran.returncode == 0 and b"content" in ran.stdout, str(ran))
            claim("the log says so without the signature", b"/x?...: 1 file," in ran.stdout + ran.stderr, str(ran))
        for words in (("status", "last"), ("status", "-o", "json", "last"), ("why", "last"), ("logs", "last"),
                      ("events", "last"), ("ps", "-a"), ("replicas", "last")):
            home.slipway(*words)
    claim("hooks ran", home.wait_for_hooks(3), str(home.slipway("events", "-o", "json").stdout))
    home.slipway("report", "last", "-O", f"{home.folder}/report.tar")
    home.slipway("ps", "-o", "json")
    claim("run, status, why, logs, events and ps show neither", not leaks_said(home), str(leaks_said(home)))
    claim("no file but the plan's holds one", not leaks_written(home), str(leaks_written(home)))
    claim("no row but its plan and request holds one", not leaks_stored(home), str(leaks_stored(home)))
    reports = [name for name in os.listdir(home.folder) if name.endswith(".tar")]
    claim("a report was written", len(reports) == 1, str(reports))
    for name in reports:
        leaked = leaks_in_report(f"{home.folder}/{name}")
        claim("the report shows neither", not leaked, str(leaked))


def main():
    with tempfile.TemporaryDirectory(prefix="slipway-shown-") as folder:
        server, silent = Server(("127.0.0.1", 0), Files), Server(("127.0.0.1", 0), Files)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        deaf = silent.server_address[1]
        silent.server_close()                      # its port refuses from now on
        home = Home(folder)
        copies(home, server.server_address[1], deaf)
        jobs(home, server.server_address[1], deaf)
    finish()


if __name__ == "__main__":
    main()
