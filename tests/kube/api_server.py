# SPDX-License-Identifier: Apache-2.0
"""api_server.py - a stand-in for an API server on loopback, with or without TLS, that remembers what it was asked.

What it answers is a function of the test: answer(request) -> (status, body). A request has `path`, `method`, `headers`,
`certificate` (the client's subject, or None) and `name` (that TLS was asked for).
"""
import http.server
import json
import select
import socket
import ssl
import threading
import types


class ApiServer:
    def __init__(self, answer=None, pair=None, client_authority=None):
        """`pair`: certificate and key of a server with TLS; `client_authority`: whose certificates clients must have."""
        self.answer = answer or (lambda request: (200, {}))
        self.seen = []
        self.names = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def respond(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                peer = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
                subject = dict(pair for part in peer["subject"] for pair in part) if peer else {}
                request = types.SimpleNamespace(path=self.path, method=self.command, headers=self.headers,
                                                certificate=subject.get("commonName"))
                owner.seen.append(request)
                status, body = owner.answer(request)
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = respond

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, client_address):      # a client that hangs up is no news
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        if pair:
            self.server.socket = self.secured(self.server.socket, pair, client_authority)
        self.url = f"{'https' if pair else 'http'}://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def secured(self, plain, pair, client_authority):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair)
        context.sni_callback = lambda connection, name, _: self.names.append(name)
        if client_authority:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(client_authority)
        # The handshake is the handler thread's: a client that is refused stops no other.
        return context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Proxy:
    """An HTTP proxy that only knows CONNECT."""

    def __init__(self):
        self.asked = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.tunnel, args=(client,), daemon=True).start()

    def tunnel(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        words = head.split()
        self.asked.append(words[1].decode())
        host, port = words[1].decode().rsplit(":", 1)
        with client, socket.create_connection((host, int(port))) as server:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                for one in select.select([client, server], [], [])[0]:
                    piece = one.recv(65536)
                    if not piece:
                        return
                    (server if one is client else client).sendall(piece)

    def close(self):
        self.listener.close()
