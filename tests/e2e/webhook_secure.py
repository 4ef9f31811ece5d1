#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A webhook over https: posted to a server whose authority is named, and to no other.

    webhook_secure.py TOOLS_FOLDER SLIPWAY
"""
import http.server
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import authority  # noqa: E402
from claims_told import claim, finish  # noqa: E402

SLIPWAY = os.path.abspath(sys.argv[2])


class Hook(http.server.BaseHTTPRequestHandler):
    posted = []

    def do_POST(self):
        self.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def serve(certificates):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.handle_error = lambda *_: None          # a client that does not believe us is no news
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(f"{certificates}/good.crt", f"{certificates}/good.key")
    server.socket = trust.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


class Home:
    """A job store of its own."""

    def __init__(self, folder, certificates, trusted):
        self.environment = {**os.environ, "HOME": folder, "SLIPWAY_STATE_DIR": f"{folder}/state",
                            "SSL_CERT_FILE": f"{certificates}/{trusted}.crt"}
        for name in ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE"):
            self.environment.pop(name, None)
        self.folder = folder

    def slipway(self, *words, stdin=""):
        return subprocess.run([SLIPWAY, *words], env=self.environment, input=stdin, capture_output=True, text=True,
                              timeout=60, cwd=self.folder)

    def tell(self, port):
        """A job that ends at once; the event of its webhook."""
        job = ("name: told\ncommand: x\nplatform: rehearsal\nrehearsal: {script: 'exit 0'}\n"
               f"notify: {{webhook: 'https://127.0.0.1:{port}/s3cret-path'}}\n")
        ran = self.slipway("run", "-f", "-", stdin=job)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            events = self.slipway("events", "-o", "json").stdout.splitlines()
            hooks = [line for line in events if '"hook"' in line]
            if hooks:
                return hooks[0]
            time.sleep(0.05)
        return f"no event: {ran.stderr}"


def main():
    with tempfile.TemporaryDirectory(prefix="slipway-webhook-") as folder:
        certificates = authority.make(f"{folder}/certificates")
        port = serve(certificates)
        for name in ("good", "bad"):
            os.mkdir(f"{folder}/{name}")
        event = Home(f"{folder}/good", certificates, "ca").tell(port)
        claim("a webhook is posted over https", [post["event"] for post in Hook.posted] == ["complete"], event)
        Hook.posted.clear()
        event = Home(f"{folder}/bad", certificates, "other").tell(port)
        claim("... and not to a server of an unknown authority", not Hook.posted, str(Hook.posted))
        claim("the event says why, and what to do", "no trusted authority" in event and "SSL_CERT_FILE" in event, event)
        claim("the address stays a secret", "s3cret" not in event, event)
    finish()


if __name__ == "__main__":
    main()
