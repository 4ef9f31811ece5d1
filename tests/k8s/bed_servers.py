# SPDX-License-Identifier: Apache-2.0
"""bed_servers.py - start, stop and wait for the servers of a bed.

Everything here runs inside the bed's own namespaces: ports are the usual ones, and a pid file names a process
of the bed.
"""
import json
import os
import select
import signal
import subprocess
import time

from bed_api import BED, PORT, Api
from bed_keys import PKI, certificate, write_kubeconfig

ETCD, ETCD_PEER, KWOK_PORT = "http://127.0.0.1:2379", "http://127.0.0.1:2380", 10247
OTHER_PORT = 7443
LOG, STATE = f"{BED}/log", f"{BED}/state.json"
AUDIT_POLICY = {
    # Requests of the bed's own parts are not written down; of all others, who asked for what.
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
        {"level": "None", "users": ["system:kube-controller-manager", "system:kube-scheduler", "system:apiserver", "bed:kwok",
                                    "bed:dns", "bed:apiserver", "bed:jobset", "bed:kueue", "bed:kuberay"]},
        {"level": "None", "userGroups": ["system:nodes"]},
        {"level": "Metadata"}]}


class Trouble(Exception):
    pass


def state():
    with open(STATE, encoding="utf-8") as file:
        return json.load(file)


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path, mode)


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Trouble(f"{' '.join(command)}: {done.stdout}")
    return done.stdout


def layer_over(path):
    """What is written there from now on, only the bed sees. What was mounted below shows again what is under it."""
    parts = {kind: f"{BED}/layers{path}/{kind}" for kind in ("upper", "work")}
    for part in parts.values():
        os.makedirs(part)
    run("mount", "-t", "overlay", "bed", "-o", f"lowerdir={path},upperdir={parts['upper']},workdir={parts['work']}", path)


def pid_of(name):
    try:
        with open(f"{BED}/pid/{name}", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def is_alive(name):
    try:
        with open(f"/proc/{pid_of(name)}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def last_words(name):
    try:
        with open(f"{LOG}/{name}", encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-8:])
    except OSError:
        return ""


def wait_for(what, condition, server=None, seconds=120):
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if server and not is_alive(server):
            raise Trouble(f"{server} has ended:\n{last_words(server)}")
        if time.monotonic() > deadline:
            raise Trouble(f"{what} did not come in {seconds} s\n{last_words(server) if server else ''}")
        time.sleep(0.05)
    return answer


def start(name, command):
    """In the background; it may outlive the process that starts it, but not the bed."""
    if is_alive(name):
        return
    with open(f"{LOG}/{name}", "ab") as log:
        process = subprocess.Popen(command, cwd=PKI, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    write(f"{BED}/pid/{name}", f"{process.pid}\n")


def stop(name, which=signal.SIGKILL):
    if not is_alive(name):
        return
    whole = os.pidfd_open(pid_of(name))      # readable when the last thread is gone, and its port is free
    os.kill(pid_of(name), which)
    ended, _, _ = select.select([whole], [], [], 60)
    os.close(whole)
    if not ended:
        raise Trouble(f"{name} does not end")


def send(name, which):
    if is_alive(name):
        os.kill(pid_of(name), which)


def start_tool(name, *words):
    start(name, [state()["kubemini"], name, *words])


# ---- the control plane

def start_etcd():
    start_tool("etcd", "--name=bed", f"--data-dir={BED}/etcd", "--unsafe-no-fsync", "--log-level=warn",
               f"--listen-client-urls={ETCD}", f"--advertise-client-urls={ETCD}", f"--listen-peer-urls={ETCD_PEER}",
               f"--initial-advertise-peer-urls={ETCD_PEER}", f"--initial-cluster=bed={ETCD_PEER}")


def apiserver_flags(port, audit):
    patience = state()["eviction"]
    return (f"--etcd-servers={ETCD}", f"--secure-port={port}", "--bind-address=0.0.0.0",
            "--advertise-address=10.89.0.1", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", f"--client-ca-file={BED}/ca.crt",
            "--tls-cert-file=apiserver.crt", "--tls-private-key-file=apiserver.key", "--token-auth-file=tokens.csv",
            "--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=accounts.key",
            "--service-account-signing-key-file=accounts.key", "--kubelet-client-certificate=to-kubelet.crt",
            "--kubelet-client-key=to-kubelet.key", "--kubelet-preferred-address-types=InternalIP",
            f"--default-not-ready-toleration-seconds={patience}", f"--default-unreachable-toleration-seconds={patience}",
            "--audit-policy-file=audit.json", f"--audit-log-path={audit}", "--audit-log-maxsize=2000",
            *state()["apiserver"])


def start_apiserver(wait=True):
    write(f"{PKI}/audit.json", json.dumps(AUDIT_POLICY))
    start_tool("kube-apiserver", *apiserver_flags(PORT, f"{BED}/audit.log"))
    if wait:
        wait_for("the API server", Api(timeout=5).is_ready, "kube-apiserver")


def start_other():
    """A second cluster that shares etcd, but nothing in it, with the first; it has no controllers and no nodes."""
    name = "kube-apiserver-other"
    start(name, [state()["kubemini"], "kube-apiserver", *apiserver_flags(OTHER_PORT, f"{BED}/audit-other.log"),
                 "--etcd-prefix=/other"])
    write_kubeconfig(f"{BED}/kubeconfig-other", certificate("admin"), port=OTHER_PORT)
    wait_for("the other API server", Api(timeout=5, port=OTHER_PORT).is_ready, name)
    wait_for("its first namespace", lambda: Api(port=OTHER_PORT).ask("GET", "/api/v1/namespaces/kube-system")[0] == 200, name)


def start_controllers():
    start_tool("kube-controller-manager", "--kubeconfig=controllers.conf", "--leader-elect=false", "--secure-port=0",
               "--service-account-private-key-file=accounts.key", f"--root-ca-file={BED}/ca.crt",
               f"--node-monitor-grace-period={state()['grace']}s", "--node-monitor-period=500ms",
               "--node-eviction-rate=10", "--secondary-node-eviction-rate=10", "--large-cluster-size-threshold=0",
               "--pvclaimbinder-sync-period=1s")


def start_scheduler():
    start_tool("kube-scheduler", "--kubeconfig=scheduler.conf", "--leader-elect=false", "--secure-port=0")


# ---- nodes that only pretend

def start_kwok():
    start_tool("kwok", f"--kubeconfig={PKI}/kwok.conf", f"--config={BED}/kwok.yaml",
               "--manage-nodes-with-label-selector=type=kwok", "--node-lease-duration-seconds=8", "--cidr=10.244.0.0/16",
               "--node-ip=127.0.0.1", f"--node-port={KWOK_PORT}", f"--server-address=127.0.0.1:{KWOK_PORT}",
               "--enable-crds=Logs", "--tls-cert-file=apiserver.crt", "--tls-private-key-file=apiserver.key")


def node_document(name, gpus, more):
    room = {"cpu": "64", "memory": "512Gi", "pods": "256", "ephemeral-storage": "1Ti",
            **({"nvidia.com/gpu": str(gpus)} if gpus else {}), **more.get("allocatable", {})}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": more.get("annotations", {}), "labels": {
                "type": "kwok", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name,
                **({"nvidia.com/gpu.product": "NVIDIA-H200", "nvidia.com/gpu.count": str(gpus)} if gpus else {}),
                **more.get("labels", {})}},
            "spec": {"taints": more.get("taints", [])}, "status": {"capacity": room, "allocatable": room}}


def is_ready(node):
    return any(fact["type"] == "Ready" and fact["status"] == "True" for fact in node.get("status", {}).get("conditions", []))


def ready_nodes():
    return {node["metadata"]["name"] for node in Api().get("/api/v1/nodes")["items"]
            if is_ready(node) and not any("not-ready" in taint["key"] for taint in node["spec"].get("taints", []))}


def add_node(name, gpus="8", more="{}"):
    Api().post("/api/v1/nodes", node_document(name, int(gpus), json.loads(more)))


def kubectl(*words, text=None):
    done = subprocess.run([state()["kubemini"], "kubectl", f"--kubeconfig={BED}/kubeconfig", *words], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise Trouble(f"kubectl {' '.join(words)}: {done.stdout}")
    return done.stdout
