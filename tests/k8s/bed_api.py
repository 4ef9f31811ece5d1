# SPDX-License-Identifier: Apache-2.0
"""bed_api.py - the Kubernetes API of a bed, asked directly; for the bed itself and for tests in Python."""
import http.client
import json
import os
import ssl

BED = "/run/k8s"                     # on the /run that only the bed sees
HOST, PORT = "127.0.0.1", 6443
MERGE = "application/merge-patch+json"


class Refused(Exception):
    def __init__(self, code, said):
        super().__init__(f"{code}: {said}")
        self.code, self.said = code, said


class Api:
    """As the administrator, or as the user of a token. `get` and its like return the parsed answer or raise."""

    def __init__(self, token=None, bed=BED, timeout=30, port=PORT):
        self.token, self.timeout, self.port = token, timeout, port
        self.context = ssl.create_default_context(cafile=f"{bed}/ca.crt")
        if not token:
            self.context.load_cert_chain(f"{bed}/pki/admin.crt", f"{bed}/pki/admin.key")

    def ask(self, method, path, body=None, kind="application/json"):
        """Status and parsed answer (text where it is no JSON)."""
        line = http.client.HTTPSConnection(HOST, self.port, timeout=self.timeout, context=self.context)
        headers = {"Content-Type": kind, **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
        try:
            line.request(method, path, None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            said = answer.read().decode(errors="replace")
        finally:
            line.close()
        try:
            return answer.status, json.loads(said)
        except ValueError:
            return answer.status, said

    def must(self, *words):
        code, said = self.ask(*words)
        if code >= 300:
            raise Refused(code, said.get("message") if isinstance(said, dict) else said)
        return said

    def get(self, path):
        return self.must("GET", path)

    def post(self, path, body):
        return self.must("POST", path, body)

    def patch(self, path, body):
        return self.must("PATCH", path, body, MERGE)

    def delete(self, path, **options):
        return self.must("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", **options})

    def is_ready(self):
        try:
            return self.ask("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False


def audited(bed=BED):
    """Each request that the API server has written down: {verb, user, agent, path, code, ...}."""
    with open(os.path.join(bed, "audit.log"), encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                told = json.loads(line)
            except ValueError:
                continue                 # the last line may not be whole yet
            about = told.get("objectRef", {})
            yield {"verb": told["verb"], "user": told["user"].get("username"), "agent": told.get("userAgent", ""),
                   "path": told["requestURI"], "code": told.get("responseStatus", {}).get("code"), "stage": told["stage"],
                   "resource": about.get("resource"), "subresource": about.get("subresource"), "name": about.get("name"),
                   "namespace": about.get("namespace")}
