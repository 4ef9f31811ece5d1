# SPDX-License-Identifier: Apache-2.0
#
# cluster_config.py - what the files of the test cluster say, and where they are.
#
# Learnt from Slurm itself: AuthInfo=cred_expire is what makes a requeued job wait; NodeHostname with `slurmd -N`
# puts several nodes on one machine; SlurmdTimeout decides when a killed slurmd is a lost node.
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess

ROOT = "/media"
HOST = "bed"                      # the name of the machine inside
USER, UID = "ann", 20001
ACCOUNT = "research"
LOGINS = {"login1": "127.0.0.11", "login2": "127.0.0.12"}
OTHER, OTHER_LOGIN, OTHER_CONF = "other", "other1", "/etc/slurm-other/slurm.conf"     # the second cluster
STATE = ROOT + "/cluster.json"
MYSQL = ROOT + "/mysql"
LOG = ROOT + "/log"
BIN = ROOT + "/bin"
LUSTRE = ROOT + "/lustre"
KEY = ROOT + "/key"
REGISTRY = ROOT + "/registry"        # what the stand-in for enroot imports from


def run(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **more)


def write(path, text, mode=0o644, owner=None):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    if owner:
        shutil.chown(path, owner, owner)


def folder(path, mode=0o755, owner=None):
    os.makedirs(path, exist_ok=True)
    os.chmod(path, mode)
    if owner:
        shutil.chown(path, owner, owner)


def make_room():
    """Mounts that only we see: a disk in memory, an /etc that may be written, a fresh /run."""
    run("mount", "-t", "tmpfs", "-o", "mode=755", "bed", ROOT)
    folder(ROOT + "/etc")
    run("cp", "-a", *(f"/etc/{name}" for name in os.listdir("/etc") if name != "slurm"), ROOT + "/etc")
    run("mount", "--bind", ROOT + "/etc", "/etc")
    run("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
    raise_loopback()
    run("hostname", HOST)


def raise_loopback():
    """Up, and with one address that is not 127.*: else slurmdbd's getaddrinfo(AI_ADDRCONFIG) finds no family."""
    set_flags, set_address = 0x8914, 0x8916
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", 1))
        fcntl.ioctl(any_socket, set_address, struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0,
                                                         socket.inet_aton("10.77.0.1")))


class Cluster:
    """One cluster: what was asked for, and the files that follow from it."""

    def __init__(self, options):
        self.options = options
        self.accounting = not options.no_accounting
        self.nodes = {f"n{i}": f"127.0.1.{i}" for i in range(1, options.nodes + 1)}
        self.machines = dict(word.split("=") for word in options.machine)
        self.here = os.path.dirname(os.path.realpath(__file__))
        self.logins = {**LOGINS, **({OTHER_LOGIN: "127.0.0.13"} if options.second else {})}

    # ---- people and places

    def write_people(self):
        with open("/etc/passwd", encoding="utf-8") as file:
            rows = [row.split(":") for row in file.read().splitlines()]
        for row in rows:
            if row[0] == "root":
                row[5] = ROOT + "/home/root"
        rows.append([USER, "x", str(UID), str(UID), "", f"{ROOT}/home/{USER}", "/bin/bash"])
        write("/etc/passwd", "".join(":".join(row) + "\n" for row in rows))
        for path, line in (("/etc/group", f"{USER}:x:{UID}:\n"), ("/etc/shadow", f"{USER}:*:19000::::::\n")):
            with open(path, "a", encoding="utf-8") as file:
                file.write(line)
        folder(ROOT + "/home/root", 0o700)
        folder(f"{ROOT}/home/{USER}", 0o750, USER)
        folder(f"{LUSTRE}/{USER}", 0o755, USER)
        for name in ("log", "state", "spool", "pid"):
            folder(f"{ROOT}/{name}", 0o755, "slurm")
        folder(ROOT + "/munge", 0o700, "munge")
        folder("/run/munge", 0o755, "munge")
        folder("/run/sshd")
        for node in self.nodes:
            folder(f"{ROOT}/spool/{node}")

    def write_hosts(self):
        lines = ["127.0.0.1 localhost " + HOST]
        lines += [f"{address} {name}" for name, address in {**self.logins, **self.nodes}.items()]
        write("/etc/hosts", "\n".join(lines) + "\n")
        write("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n")

    # ---- slurm

    def accounting_lines(self):
        if not self.accounting:
            return "AccountingStorageType=accounting_storage/none\n"
        return ("AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\n"
                "AccountingStorageTRES=gres/gpu\nAccountingStorageEnforce=associations,qos\n")

    def node_lines(self):
        gres = f"Gres=gpu:{self.options.gpus} " if self.options.gpus else ""
        # A port for each: slurmd listens on every address, whatever NodeAddr says.
        return "".join(f"NodeName={name} NodeHostname={HOST} NodeAddr={address} Port={17000 + int(name[1:])} "
                       f"CPUs={self.options.cpus} RealMemory=65536 {gres}Feature=a100,{name} State=UNKNOWN\n"
                       for name, address in self.nodes.items())

    def partition_lines(self):
        rows = ["batch Default=YES MaxTime=INFINITE PreemptMode=OFF",
                "short MaxTime=00:10:00 DefaultTime=00:05:00 PreemptMode=OFF",
                "cpu MaxTime=INFINITE PreemptMode=OFF",
                "low PriorityTier=1 MaxTime=INFINITE PreemptMode=REQUEUE",
                "high PriorityTier=10 MaxTime=INFINITE PreemptMode=OFF",
                "closed State=DOWN"]
        return "".join(f"PartitionName={row.split(' ', 1)[0]} {'' if 'Nodes=' in row else 'Nodes=ALL '}"
                       f"{row.partition(' ')[2]}\n"
                       for row in rows + self.options.partition)

    def write_slurm(self):
        folder("/etc/slurm")
        write("/etc/slurm/slurm.conf", f"""\
ClusterName={HOST}
SlurmctldHost={HOST}(127.0.0.1)
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=cred_expire={self.options.requeue_delay}
StateSaveLocation={ROOT}/state
SlurmdSpoolDir={ROOT}/spool/%n
SlurmctldPidFile={ROOT}/pid/slurmctld
SlurmdPidFile={ROOT}/pid/%n
SlurmctldLogFile={LOG}/slurmctld
SlurmdLogFile={LOG}/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=64
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdTimeout={self.options.node_timeout}
MessageTimeout=5
KillWait=2
BatchStartTimeout=10
ReturnToService=2
MinJobAge={self.options.min_job_age}
MpiDefault=none
GresTypes=gpu
PlugStackConfig=/etc/slurm/plugstack.conf
{self.accounting_lines()}{self.node_lines()}{self.partition_lines()}""" +
              "".join(line + "\n" for line in self.options.set))
        for number in range(self.options.gpus):
            write(f"{ROOT}/dev/gpu{number}", "")
        write("/etc/slurm/gres.conf", "" if not self.options.gpus else "".join(
            f"NodeName={name} Name=gpu File={ROOT}/dev/gpu[0-{self.options.gpus - 1}]\n" for name in self.nodes))
        write("/etc/slurm/cgroup.conf", "CgroupAutomount=no\n")
        write("/etc/slurm/slurmdbd.conf", f"""\
AuthType=auth/munge
DbdHost=localhost
DbdAddr=127.0.0.1
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StorageUser=slurm
StoragePass=test
StorageLoc=slurm_acct_db
LogFile={LOG}/slurmdbd
PidFile={ROOT}/pid/slurmdbd
""", 0o600, "slurm")
        self.write_plugins()
        if self.options.second:
            self.write_second()
        if self.options.oci:
            self.write_oci()

    def write_second(self):
        """Another cluster with a controller and a node of its own. Its numbers are others: Slurm's clean-up on this
        machine, which is a node of both, goes by number."""
        for name in ("state", "spool"):
            folder(f"{ROOT}/{OTHER}/{name}", 0o755, "slurm")
        write(OTHER_CONF, f"""\
ClusterName={OTHER}
FirstJobId=1001
SlurmctldHost={HOST}(127.0.0.1)
SlurmctldPort=6827
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation={ROOT}/{OTHER}/state
SlurmdSpoolDir={ROOT}/{OTHER}/spool
SlurmctldPidFile={ROOT}/pid/{OTHER}
SlurmdPidFile={ROOT}/pid/o1
SlurmctldLogFile={LOG}/{OTHER}
SlurmdLogFile={LOG}/o1
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
KillWait=2
ReturnToService=2
MpiDefault=none
AccountingStorageType=accounting_storage/none
NodeName=o1 NodeHostname={HOST} NodeAddr=127.0.1.99 Port=17099 CPUs={self.options.cpus} RealMemory=65536 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE
""")
        write("/etc/slurm-other/cgroup.conf", "CgroupAutomount=no\n")

    def write_oci(self):
        # Slurm 22.05 knows no %U; the bundle brings the user namespace, and there is no cgroup to write to.
        runc = f"runc --rootless=true --root={ROOT}/oci/%u"
        name = "%n.%u.%j.%s.%t"
        folder(ROOT + "/oci", 0o1777)
        write("/etc/slurm/oci.conf", f'''\
RunTimeRun="{runc} run -b %b {name}"
RunTimeQuery="{runc} state {name}"
RunTimeKill="{runc} kill -a {name}"
RunTimeDelete="{runc} delete --force {name}"
''')

    def write_plugins(self):
        lines = ""
        source = self.here + "/pyxis.c"
        if not self.options.no_pyxis and os.path.exists(source):
            plugin = os.environ.get("SLIPWAY_PYXIS") or ROOT + "/pyxis.so"
            if not os.path.exists(plugin):
                run("gcc", "-O1", "-Wall", "-D_GNU_SOURCE", "-fPIC", "-shared", "-o", plugin, source)
            lines = f"required {plugin} spool={ROOT}/containers\n"
            folder(ROOT + "/containers")
        write("/etc/slurm/plugstack.conf", lines)

    # ---- ssh

    def write_ssh(self):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", KEY)
        known = ""
        for name, address in self.logins.items():
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{ROOT}/{name}")
            with open(f"{ROOT}/{name}.pub", encoding="utf-8") as file:
                known += f"{name},{address} {file.read()}"
            write(f"{ROOT}/{name}.conf", f"""\
ListenAddress {address}:22
HostKey {ROOT}/{name}
AuthorizedKeysFile {ROOT}/key.pub
PidFile {ROOT}/pid/{name}
SetEnv PATH={BIN}:/usr/local/bin:/usr/bin:/bin{f" SLURM_CONF={OTHER_CONF}" if name == OTHER_LOGIN else ""}
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UseDNS no
MaxStartups 100
MaxSessions 100
Subsystem sftp internal-sftp
""")
        write("/etc/ssh/ssh_known_hosts", known)

    # ---- programs of ours

    def write_programs(self):
        folder(BIN)
        folder(REGISTRY, 0o777)
        os.symlink(self.here + "/cluster", BIN + "/cluster-control")
        write(BIN + "/as-ann", "#!/bin/sh\n# Run a command as a user who is logged in on the login node.\n"
              f"cd {ROOT}/home/{USER} && exec setpriv --reuid={USER} --regid={USER} --clear-groups "
              f"env -i HOME={ROOT}/home/{USER} USER={USER} LOGNAME={USER} SHELL=/bin/bash LANG=C.UTF-8 SLIPWAY_WATCHER=off "
              f"PATH={BIN}:/usr/local/bin:/usr/bin:/bin \"$@\"\n", 0o755)
        if os.path.exists(self.here + "/enroot"):
            os.symlink(self.here + "/enroot", BIN + "/enroot")
        if self.machines:
            rows = "".join(f"-m,{node}) echo {kind} ;;\n" for node, kind in self.machines.items())
            write(BIN + "/uname", "#!/bin/sh\n# What a node of another kind would say.\ncase $*,${SLURMD_NODENAME-} in\n"
                  f"{rows}*) exec /usr/bin/uname \"$@\" ;;\nesac\n", 0o755)
        with open("/etc/profile", "a", encoding="utf-8") as file:
            file.write(f"\nPATH={BIN}:$PATH\n")

    def write_files(self):
        self.write_people()
        self.write_hosts()
        self.write_slurm()
        self.write_ssh()
        self.write_programs()
        write(STATE, json.dumps({"nodes": list(self.nodes), "accounting": self.accounting,
                                 "machines": self.machines}))

    def client_environment(self):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("SLURM_", "SSH_", "SBATCH_"))}
        environment.update(HOME=ROOT + "/home/root", SLURM_HOSTNAME=",".join(LOGINS), SLURM_USER=USER,
                           SSH_KEY_PATH=KEY, SLURM_BASE_RESULTS_DIR=f"{LUSTRE}/{USER}",
                           SLURM_CONTAINER_MOUNTS=LUSTRE, SLURM_PARTITION="batch", SLIPWAY_TEST_CLUSTER=ROOT,
                           PATH=f"{BIN}:{os.environ['PATH']}")
        return environment

    def save_logs(self):
        if self.options.keep_logs:
            shutil.copytree(LOG, self.options.keep_logs, dirs_exist_ok=True)
