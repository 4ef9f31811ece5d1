# SPDX-License-Identifier: Apache-2.0
#
# cluster_daemons.py - start, break and mend the daemons of the test cluster.
#
# Everything here runs inside the cluster's own pid namespace: a pid file names a process of ours.
import json
import os
import signal
import subprocess
import sys
import time

import cluster_images
from cluster_config import ACCOUNT, BIN, HOST, LOG, LOGINS, MYSQL, OTHER, OTHER_CONF, ROOT, STATE, USER, folder, run, write


class Trouble(Exception):
    pass


def wait_for(what, condition, seconds=60):
    deadline = time.monotonic() + seconds
    pause = 0.01
    while not condition():
        if time.monotonic() > deadline:
            raise Trouble(f"{what} did not come up in {seconds} s (see {LOG})")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.2)


def asks(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)


def as_user(user, *command):
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--", *command]


def start(name, command):
    with open(f"{LOG}/{name}.out", "ab") as log:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    if done.returncode != 0:
        with open(f"{LOG}/{name}.out", encoding="utf-8", errors="replace") as log:
            raise Trouble(f"{name} does not start: {log.read()[-2000:]}")


# ---- one by one

def start_munge():
    write("/etc/munge/munge.key", os.urandom(512).hex(), 0o400, "munge")
    folder("/etc/munge", 0o700, "munge")
    start("munge", as_user("munge", "munged", "--log-file=" + ROOT + "/munge/log",
                           "--pid-file=/run/munge/pid", "--seed-file=" + ROOT + "/munge/seed"))
    wait_for("munge", lambda: asks("munge", "-n").returncode == 0)


def start_database():
    folder(MYSQL, 0o700, "mysql")
    folder(MYSQL + "-tmp", 0o700, "mysql")       # two clusters that begin together do not share /tmp
    start("mariadb-install", ["mariadb-install-db", "--no-defaults", "--user=mysql", "--datadir=" + MYSQL,
                              "--tmpdir=" + MYSQL + "-tmp", "--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=8M",
                              "--innodb-doublewrite=0", "--innodb-flush-log-at-trx-commit=0"])
    with open(LOG + "/mariadb", "wb") as log:
        subprocess.Popen(["mariadbd", "--no-defaults", "--user=mysql", "--datadir=" + MYSQL,
                          "--tmpdir=" + MYSQL + "-tmp", "--socket=" + MYSQL + "/socket", "--bind-address=127.0.0.1", "--skip-name-resolve",
                          "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=8M",
                          "--innodb-lock-wait-timeout=900", "--skip-stack-trace", "--innodb-doublewrite=0",
                          "--innodb-flush-log-at-trx-commit=0", "--pid-file=" + MYSQL + "/pid"],
                         stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    client = ["mariadb", "--no-defaults", "-S", MYSQL + "/socket", "-e"]
    wait_for("MariaDB", lambda: asks(*client, "select 1").returncode == 0)
    run(*client, "create database slurm_acct_db; create user 'slurm'@'127.0.0.1' identified by 'test'; "
                 "grant all on slurm_acct_db.* to 'slurm'@'127.0.0.1';")


def start_accounting():
    start("slurmdbd", as_user("slurm", "slurmdbd"))
    wait_for("slurmdbd", lambda: asks("sacctmgr", "-n", "list", "cluster").returncode == 0)


def fill_accounting():
    # One invocation: each costs a connection and a tenth of a second.
    script = (f"add cluster {HOST}\nadd account {ACCOUNT} Cluster={HOST}\nadd account other Cluster={HOST}\n"
              f"add qos rush Priority=100\nadd user {USER} account={ACCOUNT}\nadd user root account={ACCOUNT}\n"
              f"modify user {USER} set qos+=rush\n")
    done = subprocess.run(["sacctmgr", "-i", "-Q"], input=script + "exit\n", text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    write(LOG + "/sacctmgr", done.stdout)


def start_controller():
    start("slurmctld", as_user("slurm", "slurmctld"))
    wait_for("slurmctld", lambda: "UP" in asks("scontrol", "ping").stdout)


def start_node(name):
    with open(STATE, encoding="utf-8") as file:
        kind = json.load(file)["machines"].get(name)
    start(name, ["env", *([f"SLURM_ARCH={kind}"] if kind else []), "slurmd", "-N", name])


def start_login(name):
    start(name, ["/usr/sbin/sshd", "-f", f"{ROOT}/{name}.conf", "-E", f"{LOG}/{name}"])


def nodes_ready(names):
    states = dict(line.split() for line in asks("sinfo", "-h", "-N", "-p", "batch", "-o", "%N %T").stdout.splitlines())
    return all(states.get(name) in ("idle", "mixed", "allocated") for name in names)


def start_second():
    start(OTHER, as_user("slurm", "slurmctld", "-f", OTHER_CONF))
    start("o1", ["slurmd", "-f", OTHER_CONF, "-N", "o1"])
    there = ["env", f"SLURM_CONF={OTHER_CONF}"]
    wait_for("the second cluster", lambda: asks(*there, "sinfo", "-h", "-o", "%T").stdout.strip() == "idle")


def start_all(cluster):
    for name in cluster.logins:
        start_login(name)
    start_munge()
    if cluster.accounting:
        start_database()
        start_accounting()
        fill_accounting()
    start_controller()
    for name in cluster.nodes:
        start_node(name)
    wait_for("the nodes", lambda: nodes_ready(cluster.nodes))
    if cluster.options.second:
        start_second()


# ---- breaking and mending

def pid_of(name):
    try:
        with open(f"{ROOT}/pid/{name}", encoding="utf-8") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def parents():
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    found[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    return found


def family(pid):
    """A process and everything below it."""
    above = parents()
    found = [pid]
    for member in found:
        found += [child for child, parent in above.items() if parent == member]
    return found


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def send(pids, which):
    for pid in pids:
        try:
            os.kill(pid, which)
        except ProcessLookupError:
            pass


def stop(name, which=signal.SIGKILL, whole_family=False):
    pid = pid_of(name)
    if not pid or gone(pid):
        return
    send(family(pid) if whole_family else [pid], which)
    wait_for(f"the end of {name}", lambda: gone(pid), 20)


def read_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def steps_of(node):
    """The step managers of a node, and then their tasks. Both outlive its slurmd."""
    above = parents()
    tasks = [pid for pid in above
             if b"SLURMD_NODENAME=" + node.encode() in read_bytes(f"/proc/{pid}/environ").split(b"\0")]
    managers = set()
    for pid in tasks:
        while pid > 1 and not read_bytes(f"/proc/{pid}/comm").startswith(b"slurmstepd"):
            pid = above.get(pid, 0)
        if pid > 1:
            managers.add(pid)
    return list(managers) + tasks


def kill_node(name):
    """As if the power went: no process is left to say how the tasks ended."""
    steps = steps_of(name)
    stop(name)
    send(steps, signal.SIGKILL)


SBATCH_FAULT = """#!/bin/sh
# Put here by `cluster-control fault KIND`: works once. The ssh session that carries us is the parent of
# our shells; it runs as the same user, so it can be ended from here.
rm -f {path}
lose() {{ p=$$; while [ "$p" -gt 1 ]; do n=$(cat /proc/$p/comm); [ "$n" = sshd ] && kill -9 "$p" && break
          p=$(cut -d' ' -f4 /proc/$p/stat); done; sleep 1; }}
case {kind} in
lose-before) lose; exit 1 ;;
lose-after) /usr/bin/sbatch "$@"; lose; exit 0 ;;
refuse) echo "sbatch: error: Batch job submission failed: Unspecified error" >&2; exit 1 ;;
slow) sleep 5; exec /usr/bin/sbatch "$@" ;;
esac
"""


def set_fault(kind):
    path = BIN + "/sbatch"
    folder(BIN, 0o1777)                  # the fault removes itself, as the user
    write(path, SBATCH_FAULT.format(path=path, kind=kind), 0o755, USER)


def restart_controller():
    stop("slurmctld", signal.SIGTERM)
    start_controller()


def lose_node(name):
    """Killed, without waiting for the controller to notice."""
    kill_node(name)
    run("scontrol", "update", "nodename=" + name, "state=down", "reason=lost")


CONTROLS = {
    "lose-node": (lose_node, "NODE: power off, and the controller knows at once"),
    "kill-node": (kill_node, "NODE: power off: its daemon, step managers and tasks"),
    "start-node": (start_node, "NODE: power on"),
    "stop-controller": (lambda: stop("slurmctld", signal.SIGTERM), "the controller is away"),
    "start-controller": (start_controller, "and back"),
    "restart-controller": (restart_controller, "both"),
    "stop-accounting": (lambda: stop("slurmdbd", signal.SIGTERM), "slurmdbd is away"),
    "start-accounting": (start_accounting, "and back"),
    "cut": (lambda name: stop(name, signal.SIGKILL, True), "LOGIN: its sshd and all sessions die"),
    "freeze": (lambda name: send(family(pid_of(name)), signal.SIGSTOP), "LOGIN: answers nothing any more"),
    "thaw": (lambda name: send(family(pid_of(name)), signal.SIGCONT), "LOGIN: answers again"),
    "mend": (start_login, "LOGIN: its sshd listens again"),
    "add-image": (cluster_images.add_to_registry, "REGISTRY IMAGE:TAG: now enroot can import it"),
    "make-sqsh": (cluster_images.make_squashfs, "PATH: a squashfs image"),
    "make-bundle": (cluster_images.make_bundle, "PATH [FOLDER...]: an OCI bundle that mounts these folders"),
    "want-login": (cluster_images.want_login, "REGISTRY LOGIN PASSWORD: no import without them"),
    "slow-imports": (cluster_images.slow_imports, "SECONDS: how long an import takes"),
    "fault": (set_fault, "lose-before|lose-after|refuse|slow: what the next sbatch of a login does"),
}


def control(words):
    """cluster-control VERB [NAME]"""
    if not words or words[0] not in CONTROLS:
        for verb, (_, help_text) in CONTROLS.items():
            print(f"cluster-control {verb} {help_text}", file=sys.stderr)
        return 64
    with open(STATE, encoding="utf-8") as file:
        known = json.load(file)
    if CONTROLS[words[0]][1].startswith(("NODE", "LOGIN")) and words[1] not in known["nodes"] + list(LOGINS):
        print(f"cluster-control: no node or login host {words[1]}", file=sys.stderr)
        return 64
    try:
        CONTROLS[words[0]][0](*words[1:])
    except Trouble as trouble:
        print(f"cluster-control: {trouble}", file=sys.stderr)
        return 70
    return 0
