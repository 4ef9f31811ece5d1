# SPDX-License-Identifier: Apache-2.0
"""registry_api.py - the registry of tests/docker/registry, asked by the tests beside it."""
import base64
import http.client
import json
import os
import ssl

from docker_client import FOLDER, expect

REGISTRY = os.environ["SLIPWAY_TEST_REGISTRY"]
LOGIN = {"DOCKER_REGISTRY": REGISTRY, "DOCKER_USERNAME": os.environ["SLIPWAY_TEST_REGISTRY_USER"],
         "DOCKER_PASSWORD": os.environ["SLIPWAY_TEST_REGISTRY_PASSWORD"]}
LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
ONE = "application/vnd.docker.distribution.manifest.v2+json"


def registry(method, path, body=None, kind=ONE):
    words = f"{LOGIN['DOCKER_USERNAME']}:{LOGIN['DOCKER_PASSWORD']}"
    headers = {"Authorization": "Basic " + base64.b64encode(words.encode()).decode(), "Accept": kind, "Content-Type": kind}
    asked = http.client.HTTPSConnection(REGISTRY, timeout=60,
                                        context=ssl.create_default_context(cafile=f"{FOLDER}/ca.pem"))
    asked.request(method, f"/v2/private/busybox/manifests/{path}", body, headers)
    reply = asked.getresponse()
    text = reply.read()
    expect(reply.status in (200, 201), f"{method} {path}: {reply.status} {text}")
    return text, reply.getheader("Docker-Content-Digest")


def offer(tag, *architectures):
    """An image of that tag that says that it is built for these processors, all of them the same bytes."""
    text, digest = registry("GET", "one")
    registry("PUT", tag, json.dumps({"schemaVersion": 2, "mediaType": LIST, "manifests": [
        {"mediaType": ONE, "size": len(text), "digest": digest, "platform": {"os": "linux", "architecture": one}}
        for one in architectures]}), LIST)
    return f"{REGISTRY}/private/busybox:{tag}"
