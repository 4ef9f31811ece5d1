#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server that lies about ranges, sizes and pages: nothing wrong is kept, and nothing goes on for ever.

    lying_server.py TOOLS_FOLDER SLIPWAY
"""
import hashlib
import http.server
import os
import re
import socketserver
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from claims_told import claim, finish  # noqa: E402

SLIPWAY = os.path.abspath(sys.argv[2])
CONTENT = b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(40 * 1024 * 32))       # 40 MiB: two ranges
LISTING = """<ListBucketResult><IsTruncated>%s</IsTruncated><NextContinuationToken>same</NextContinuationToken>
<Contents><Key>p/x</Key><Size>%d</Size><ETag>"e"</ETag></Contents>
<Contents><Key>p/y</Key><Size>%d</Size><ETag>"e"</ETag></Contents></ListBucketResult>"""


class Liar(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lies = {}                                      # path: how often it was lied about

    def reply(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("ETag", '"v1"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def listing(self):
        size = 2**63 - 1 if "prefix=huge" in self.path else 5
        self.reply(200, (LISTING % ("true" if "prefix=loop" in self.path else "false", size, size))
                   .replace("p/", re.search(r"prefix=(\w+)", self.path)[1] + "/").encode())

    def answer(self):
        if "list-type" in self.path:
            return self.listing()
        asked = re.match(r"bytes=(\d+)-(\d+)$", self.headers.get("Range", ""))
        if not asked:
            return self.reply(200, CONTENT)
        first, last = int(asked[1]), min(int(asked[2]), len(CONTENT) - 1)
        told = f"bytes {first}-{last}/{len(CONTENT)}"
        if first and not self.lies.setdefault(self.path, 0):       # once: of the right length, from the wrong place
            self.lies[self.path] = 1
            told = {"/elsewhere": f"bytes 0-{last - first}/{len(CONTENT)}", "/silent": None}[self.path]
            first, last = 0, last - first
        self.reply(206, CONTENT[first:last + 1], [("Content-Range", told)] if told else [])

    do_GET = do_HEAD = answer

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, *_):                    # a client that does not want the rest is no news
        pass


def main():
    with tempfile.TemporaryDirectory(prefix="slipway-lies-") as folder:
        server = Server(("127.0.0.1", 0), Liar)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_address[1]}"
        environment = {**os.environ, "HOME": folder, "SLIPWAY_STATE_DIR": f"{folder}/state", "AWS_ENDPOINT_URL": at}

        def slipway(*words):
            return subprocess.run(["timeout", "60", SLIPWAY, *words], env=environment, capture_output=True, text=True)

        for path in ("elsewhere", "silent"):
            done = slipway("cp", f"{at}/{path}", f"{folder}/{path}")
            with open(f"{folder}/{path}", "rb") as came:
                right = came.read() == CONTENT
            claim(f"a range from elsewhere is not kept ({path})", right and Liar.lies.get(f"/{path}"), str(done))
        done = slipway("ls", "-r", "s3://bucket/loop/")
        claim("a listing that leads in a circle ends with an error", done.returncode == 76 and
              "does not end" in done.stderr, str(done))
        done = slipway("cp", "-r", "--dry-run", "s3://bucket/huge/", f"{folder}/huge")
        claim("sizes that no object has add up to nothing negative", done.returncode == 0 and
              "2 files would be copied" in done.stderr and "-" not in done.stderr, str(done))
        done = slipway("cp", "-r", "s3://bucket/huge/", f"{folder}/huge")
        claim("... and are refused", done.returncode != 0 and "too large" in done.stderr, str(done))
    finish()


if __name__ == "__main__":
    main()
