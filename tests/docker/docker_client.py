# SPDX-License-Identifier: Apache-2.0
"""docker_client.py - what tests on a real engine share: a client, the engine's API, the engine's switch."""
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "../sim")]
from harness.client import Client, Gate, expect, until  # noqa: E402,F401

ENGINE = os.path.join(HERE, "engine")
FOLDER = os.environ["SLIPWAY_TEST_ENGINE"]
IMAGE = os.environ["SLIPWAY_TEST_IMAGE"]
SOCKET = os.environ["DOCKER_HOST"].removeprefix("unix://")
SECRET = "cny/8d1f0c5a77+k="


class Connection(http.client.HTTPConnection):
    def __init__(self):
        super().__init__("localhost", timeout=60)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET)


def api(method, path, body=None):
    connection = Connection()
    connection.request(method, "/v1.40" + path, json.dumps(body) if body is not None else None,
                       {"Content-Type": "application/json"})
    reply = connection.getresponse()
    text = reply.read()
    connection.close()
    try:
        return reply.status, json.loads(text) if text else None
    except ValueError:
        return reply.status, text


def containers(job=None):
    label = "slipway.id" + (f"={job}" if job else "")
    return api("GET", "/containers/json?all=1&filters=" + json.dumps({"label": [label]}).replace(
        " ", "").replace('"', "%22").replace("{", "%7B").replace("}", "%7D"))[1]


def engine(order):
    subprocess.run([ENGINE, "ctl", order], check=True, timeout=200)


class DockerClient(Client):
    def __init__(self, program, folder=None):
        super().__init__(program, folder or tempfile.mkdtemp(dir=FOLDER), CANARY_TOKEN=SECRET)

    def submit(self, command, *options, image=IMAGE, **env):
        done = self.call("run", "-d", "-p", "docker", "--image", image, *options, "--", "/bin/sh", "-c", command, **env)
        return done.stdout.strip().splitlines()[-1]


def an_engine_restart_is_followed_by_another_attempt(client):
    job = client.submit("echo attempt $SLIPWAY_ATTEMPT; test $SLIPWAY_ATTEMPT = 2 || sleep 60", "--set",
                        "retry.wait=1s..1s")
    client.until(job, "Running")
    engine("restart")
    seen = client.over(job)
    expect((seen["status"], seen["attempt"]) == ("Complete", 2), f"{seen}")
    expect(client.log(job) == "attempt 2\n", client.log(job))
