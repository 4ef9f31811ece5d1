# SPDX-License-Identifier: Apache-2.0
"""bed_node.py - the real node of a bed: a containerd and a kubelet of its own, a bridge for its pods, a name server.

What a kubelet and a containerd would leave on a machine outside of their folders is covered first: this runs in
the bed's own mounts.
"""
import os
import subprocess

import bed_images
from bed_api import BED, HOST, MERGE, PORT, Api
from bed_keys import PKI
from bed_servers import is_ready, layer_over, run, start, start_tool, state, wait_for, write

NAME, ADDRESS, SUBNET = "real", "10.89.0.1", "10.89.0.0/24"
SERVICE = "10.96.0.1"               # of Kubernetes itself, in the namespace default
NODE = f"{BED}/node"
SOCKET = f"{NODE}/run/containerd.sock"
PLUGINS = next((path for path in ("/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni") if os.path.exists(f"{path}/bridge")), "")
NEEDED = ("containerd", "runc", "ctr", "busybox", "ip")
# A kubelet sets these of the whole machine; here it sets files that only it sees.
TUNABLES = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
            "kernel/keys/root_maxbytes")

CNI = """{{"cniVersion": "0.4.0", "name": "bed", "plugins": [
 {{"type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false, "ipam": {{"type": "host-local",
   "dataDir": "{node}/ipam", "ranges": [[{{"subnet": "{subnet}"}}]], "routes": [{{"dst": "0.0.0.0/0"}}]}}}}]}}
"""
CONTAINERD = """version = 2
root = "{node}/root"
state = "{node}/run"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
                    "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "{socket}"
[ttrpc]
  address = "{socket}.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "{node}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true      # root without CAP_SYS_RESOURCE could start no sandbox
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{node}/cni"
"""
KUBELET = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {address}
port: 10250
readOnlyPort: 0
healthzPort: 0
authentication: {{anonymous: {{enabled: false}}, webhook: {{enabled: false}}, x509: {{clientCAFile: {bed}/ca.crt}}}}
authorization: {{mode: AlwaysAllow}}
containerRuntimeEndpoint: unix://{socket}
cgroupDriver: cgroupfs
cgroupRoot: {groups}
failCgroupV1: false
failSwapOn: false
containerLogMaxSize: 1Gi
makeIPTablesUtilChains: false
nodeStatusUpdateFrequency: 2s
nodeLeaseDurationSeconds: 8
syncFrequency: 10s
maxPods: 200
registryPullQPS: 0
evictionHard: {{memory.available: 50Mi}}
imageGCHighThresholdPercent: 100
podLogsDir: {node}/pod-logs
volumePluginDir: {node}/volume-plugins
clusterDNS: [{address}]
clusterDomain: cluster.local
resolvConf: {node}/resolv.conf
"""


def cover_the_machine():
    run("mount", "-t", "tmpfs", "bed", "/var/log")
    layer_over("/var/lib")           # kubelet and bridge keep files there, whatever their settings say
    for name in TUNABLES:
        with open(f"/proc/sys/{name}", encoding="ascii") as file:
            write(f"{NODE}/sys/{name}", file.read())
        run("mount", "--bind", f"{NODE}/sys/{name}", f"/proc/sys/{name}")


def group_of_the_bed():
    """The surroundings made the bed's own group the root; where there is only the second version of groups, they
    could not, and remove the group of that name."""
    root = "/sys/fs/cgroup"
    if not os.path.exists(f"{root}/cgroup.controllers"):
        return "/"
    name = os.path.basename(os.environ["SLIPWAY_TEST_ENGINE"])
    os.makedirs(f"{root}/{name}", exist_ok=True)
    for path in (root, f"{root}/{name}"):
        write(f"{path}/cgroup.subtree_control", "+cpu +cpuset +memory +pids")
    return f"/{name}"


def write_settings():
    known = {"node": NODE, "bed": BED, "socket": SOCKET, "pause": bed_images.TINY, "plugins": PLUGINS, "address": ADDRESS,
             "subnet": SUBNET, "groups": group_of_the_bed()}
    write(f"{NODE}/cni/10-bed.conflist", CNI.format(**known))
    write(f"{NODE}/containerd.toml", CONTAINERD.format(**known))
    write(f"{NODE}/kubelet.yaml", KUBELET.format(**known))
    write(f"{NODE}/resolv.conf", "")


def start_network():
    """Pods reach each other, the name server and the API server; there is nothing else to reach."""
    run("ip", "link", "add", "pods", "type", "bridge")
    run("ip", "address", "add", f"{ADDRESS}/24", "dev", "pods")
    run("ip", "link", "set", "pods", "up")
    run("ip", "address", "add", f"{SERVICE}/32", "dev", "lo")


def containerd_answers():
    done = subprocess.run(["ctr", "-a", SOCKET, "version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def start_containerd():
    start("containerd", ["containerd", "--config", f"{NODE}/containerd.toml", "--log-level", "warn"])
    wait_for("containerd", containerd_answers, "containerd")


def prepare():
    """All that needs no API server."""
    cover_the_machine()
    start_network()
    write_settings()
    start_containerd()
    bed_images.write_archive(f"{NODE}/images.tar")
    run("ctr", "-a", SOCKET, "-n", "k8s.io", "images", "import", f"{NODE}/images.tar")
    os.unlink(f"{NODE}/images.tar")


def node():
    code, said = Api().ask("GET", f"/api/v1/nodes/{NAME}")
    return said if code == 200 else {}


def pretend_gpus():
    """Counted by the scheduler, like any extended resource that a node's administrator states."""
    count = str(state()["gpus"])
    if count != "0":
        status = {"capacity": {"nvidia.com/gpu": count}, "allocatable": {"nvidia.com/gpu": count}}
        Api().must("PATCH", f"/api/v1/nodes/{NAME}/status", {"status": status}, MERGE)


def start_kubelet():
    start_tool("kubelet", f"--config={NODE}/kubelet.yaml", f"--kubeconfig={PKI}/real.conf", f"--root-dir={NODE}/kubelet",
               f"--cert-dir={NODE}/kubelet/pki", f"--hostname-override={NAME}", f"--node-ip={ADDRESS}",
               "--node-labels=nvidia.com/gpu.product=NVIDIA-H200" if state()["gpus"] else "--node-labels=")
    wait_for("the real node", lambda: is_ready(node()), "kubelet")
    pretend_gpus()


def start_names():
    """What pods look up, and the address that Kubernetes tells them of its API server."""
    start("forward", [state()["kubemini"], "forward", f"{SERVICE}:443", f"{HOST}:{PORT}"])
    start("dns", [state()["kubemini"], "dns", f"{PKI}/dns.conf", f"{ADDRESS}:53"])
