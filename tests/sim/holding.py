# SPDX-License-Identifier: Apache-2.0
#
# holding.py - a web server with one object whose second half comes on request, so that a download can be
# looked at while it is under way.
import http.server
import threading

SIZE = 100000


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.released = threading.Event()
        self.uri = f"http://127.0.0.1:{self.server_port}/big"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def release(self):
        self.released.set()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.release()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", str(SIZE))
        self.end_headers()

    def do_GET(self):
        self.do_HEAD()
        self.wfile.write(b"x" * (SIZE // 2))
        self.wfile.flush()
        self.server.released.wait(120)
        self.wfile.write(b"x" * (SIZE - SIZE // 2))

    def log_message(self, *words):
        pass
