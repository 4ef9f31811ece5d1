# SPDX-License-Identifier: Apache-2.0
#
# held_bucket.py - as much of S3 as an upload needs, and it answers a PUT when the test says so, and how.
import http.server
import threading


class Bucket(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server_port}"
        self.objects = {}
        self.asked = threading.Event()        # a PUT has come
        self.released = threading.Event()     # it may be answered
        self.refuses = False                  # with 403
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.released.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        pass                                  # a client that went away is what some tests want


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.set()
        self.server.released.wait(120)
        if self.server.refuses:
            return self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        self.server.objects[self.path.split("?")[0]] = body
        self.answer(200, ETag='"x"')

    def do_HEAD(self):
        body = self.server.objects.get(self.path.split("?")[0])
        self.answer(200 if body is not None else 404, body or b"")

    def do_GET(self):
        if "list-type" in self.path:
            return self.answer(200, b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
        self.do_HEAD()

    def do_DELETE(self):
        self.server.objects.pop(self.path.split("?")[0], None)
        self.answer(204)

    def log_message(self, *_):
        pass
