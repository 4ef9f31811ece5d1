# SPDX-License-Identifier: Apache-2.0
"""see_cluster.py [EXIT_CODE] [GATE] - a Ray program: prints what it sees of its cluster, and what it finds of a secret there.

One line of JSON: the nodes that live, the addresses its tasks ran on, the folder of the head, and the places where the
value of $CANARY or the cluster's token was found although it should be in none: answers of the dashboard, arguments of
processes, files of Ray. With GATE it stays while that file is there, and then asks all nodes once more.
"""
import json
import os
import stat
import sys
import time
import urllib.request

import ray

from dashboard_paths import PATHS


def answers():
    with open(os.environ["RAY_AUTH_TOKEN_PATH"], encoding="utf-8") as file:
        token = file.read()
    for path in PATHS:
        request = urllib.request.Request(os.environ["RAY_API_SERVER_ADDRESS"] + path,
                                         headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                yield path, reply.read().decode(errors="replace")
        except urllib.error.HTTPError as why:
            yield path, why.read().decode(errors="replace")


def refuses():
    """Does the dashboard answer without the token?"""
    try:
        urllib.request.urlopen(os.environ["RAY_API_SERVER_ADDRESS"] + "/api/jobs/", timeout=30)
    except urllib.error.HTTPError as why:
        return why.code in (401, 403)
    return False


def command_lines():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                yield f"the arguments of {pid}", file.read()
        except OSError:
            pass


def files():
    """What Ray wrote on this node, its logs among it."""
    own = os.environ["RAY_AUTH_TOKEN_PATH"]
    for folder, _, names in os.walk(os.path.dirname(own)):
        for path in (os.path.join(folder, name) for name in names):
            try:
                if path != own and stat.S_ISREG(os.lstat(path).st_mode):
                    with open(path, encoding="utf-8", errors="replace") as file:
                        yield path, file.read()
            except FileNotFoundError:            # it was for a moment
                pass


@ray.remote(num_cpus=0.01)
def where():
    return ray.util.get_node_ip_address(), os.environ.get("CANARY") is not None


def ask_all(nodes):
    return ray.get([where.options(resources={f"node:{node['NodeManagerAddress']}": 0.01}).remote() for node in nodes])


def main():
    ray.init(log_to_driver=False)
    nodes = [node for node in ray.nodes() if node["Alive"]]
    ran = ask_all(nodes)
    with open(os.environ["RAY_AUTH_TOKEN_PATH"], encoding="utf-8") as file:
        hidden = [file.read(), os.environ.get("CANARY") or "no canary"]
    found = [place for source in (answers, command_lines, files) for place, text in source() if any(word in text for word in hidden)]
    print(json.dumps({"nodes": len(nodes), "places": sorted({place for place, _ in ran}), "secret_there": all(seen for _, seen in ran),
                      "folder": os.path.dirname(os.environ["RAY_AUTH_TOKEN_PATH"]), "found": found, "refuses": refuses(),
                      "dashboard": int(os.environ["RAY_API_SERVER_ADDRESS"].rsplit(":", 1)[1]),
                      "token_in_environment": any(hidden[0] in value for value in os.environ.values())}), flush=True)
    while len(sys.argv) > 2 and os.path.exists(sys.argv[2]):
        time.sleep(0.2)
    ask_all(nodes)
    sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)


main()
