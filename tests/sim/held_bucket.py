# SPDX-License-Identifier: Apache-2.0
#
# held_bucket.py - as much of S3 as an upload needs, and it answers a PUT when the test says so, and how.
import http.server
import threading


class Bucket(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address="127.0.0.1"):
        super().__init__((address, 0), Handler)
        self.endpoint = f"http://{address}:{self.server_port}"
        self.objects = {}
        self.asked = threading.Event()        # a PUT has come
        self.released = threading.Event()     # it may be answered
        self.refuses = False                  # a PUT, with 403
        self.denies = False                   # everything, with 403
        self.wants_keys = False               # what is not signed, with 403
        self.refuses_uploads = False          # a look whether one may write, with 403
        self.uploads = []                     # those that were begun and not given up
        self.looked = 0                       # how many were begun
        self.busy = 0                         # so many requests more are answered with 503
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

    def denied(self):
        return self.server.denies or self.server.wants_keys and "Authorization" not in self.headers

    def do_POST(self):
        if self.server.refuses_uploads or self.denied():
            return self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        self.server.looked += 1
        self.server.uploads.append(f"{self.path.split('?')[0]} {self.server.looked}")
        self.answer(200, b"<InitiateMultipartUploadResult><UploadId>%d</UploadId></InitiateMultipartUploadResult>"
                    % self.server.looked)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.set()
        self.server.released.wait(120)
        if self.server.busy > 0:
            self.server.busy -= 1
            return self.answer(503)
        if self.server.refuses:
            return self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        self.server.objects[self.path.split("?")[0]] = body
        self.answer(200, ETag='"x"')

    def do_HEAD(self):
        if self.denied():
            return self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        body = self.server.objects.get(self.path.split("?")[0])
        self.answer(200 if body is not None else 404, body or b"")

    def do_GET(self):
        if "list-type" in self.path and not self.denied():
            return self.answer(200, b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
        self.do_HEAD()

    def do_DELETE(self):
        path, _, query = self.path.partition("?")
        if "uploadId=" in query:
            self.server.uploads.remove(f"{path} {query.partition('uploadId=')[2].partition('&')[0]}")
            return self.answer(204)
        self.server.objects.pop(self.path.split("?")[0], None)
        self.answer(204)

    def log_message(self, *_):
        pass
