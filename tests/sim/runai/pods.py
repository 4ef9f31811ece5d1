# SPDX-License-Identifier: Apache-2.0
"""pods.py - what a run:ai cluster does with a workload: its pods as containers, its phases, its logs.

A workload is a record (see RunAI.create); its pods are the replicas of its run, `ID-TRY`. Phases follow the operators below
run:ai: a Job for workspaces and trainings, a PyTorchJob for distributed ones.
"""
import functools
import re
import shlex
import threading
import time
import uuid

from cloud import STAMP, NotRunnable, Replica

FINAL = ("Completed", "Failed")
GRACE_S, RETRIES, SHM = 30, 6, 64 << 20              # Kubernetes' and run:ai's own
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
FIELDS = ("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName")
NODE, PIECE, POLL_S = "node-1", 1 << 20, 0.05
POD_PHASES = {"none": "Pending", "running": "Running"}


def stamp(seconds=None):
    seconds = time.time() if seconds is None else seconds
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03d}Z"


def size(quantity):
    number, unit = re.fullmatch(r"\+?([0-9.]+)(\w*)", quantity).groups()
    return int(float(number) * UNITS[unit])


@functools.lru_cache(maxsize=64)
def second(number):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(number)).encode()


def with_times(data):
    """Lines of the fleet's log, each with its time as Kubernetes writes it."""
    for seconds in set(re.findall(rb"(?m)^\d{10}(?=\d{9} )", data)):
        data = re.sub(rb"(?m)^%s(\d{9}) " % seconds, rb"%s.\1Z " % second(int(seconds)), data)
    return data


def expanded(value, env):
    """As a kubelet does: $(NAME) of a variable before it is its value, and $$ is $."""
    return re.sub(r"\$\$|\$\(([^)]*)\)", lambda found: "$" if found[0] == "$$" else env.get(found[1], found[0]), value)


class Waiting(Exception):
    """Why pods cannot begin now: the event's reason, and its message."""


class Pods:
    """A part of RunAI, which has `workloads`, `bodies`, `fleet`, `settings`, secret() and namespace()."""

    # ---- the pods of a workload ---------------------------------------------------------------------

    def spec(self, workload):
        return self.bodies.all[workload["id"]]["spec"]

    @staticmethod
    def run(workload):
        return f"{workload['id']}-{workload['tries']}"

    def pod_names(self, workload):
        spec, name = self.spec(workload), workload["name"]
        if workload["kind"] != "distributed":
            return [f"{name}-{i}-{workload['tries']}" for i in range(spec.get("parallelism", 1))]
        return ([f"{name}-master-0"] if workload["master"] else []) + [f"{name}-worker-{i}" for i in range(spec["numWorkers"])]

    def pods(self, workload):
        """Those that exist: of a run that began, and whose pods were not deleted."""
        out = []
        for index, name in enumerate(self.pod_names(workload) if workload["begun"] else []):
            seen = self.fleet.replica(self.run(workload), index)
            if index in workload["deleted"]:
                continue
            ended = seen["state"] == "ended"
            out.append({"name": name, "index": index, "id": str(uuid.uuid5(uuid.UUID(workload["id"]), f"{name}/{workload['tries']}")),
                        "phase": POD_PHASES.get(seen["state"]) or ("Failed" if seen["exit_code"] else "Succeeded"),
                        "createdAt": workload["begun"], "completedAt": stamp(seen["ended"] / 1e9) if ended else None,
                        "startedAt": stamp(seen["started"] / 1e9) if "started" in seen else None})
        return out

    @staticmethod
    def container_name(workload):
        return "pytorch" if workload["kind"] == "distributed" else workload["name"]

    def environment(self, workload, spec, index, name):
        """Of the body, then the operator's own, which are appended and so win."""
        env, facts = {}, dict(zip(FIELDS, (name, self.namespace(workload), workload["id"], NODE)))
        for one in spec.get("environmentVariables", []):
            secret = one.get("secret")
            if secret:
                values = self.secret(workload["projectId"], secret["name"])
                if values is None or secret["key"] not in values:
                    raise Waiting("Failed", f"Error: secret \"{secret['name']}\" with key \"{secret['key']}\" not found")
                env[one["name"]] = values[secret["key"]]
            elif "podFieldRef" in one:
                env[one["name"]] = facts[one["podFieldRef"]["path"]]
            elif "value" in one:
                env[one["name"]] = expanded(one["value"], env)
            elif "exclude" not in one:
                raise Waiting("Failed", f"Error: the source of variable {one['name']} not found")
        if spec.get("distributedFramework") == "PyTorch":
            names = self.pod_names(workload)
            env.update({"MASTER_ADDR": names[0], "MASTER_PORT": "23456", "WORLD_SIZE": str(len(names)), "RANK": str(index),
                        "PET_NNODES": str(len(names)), "PET_NPROC_PER_NODE": "auto", "PET_NODE_RANK": str(index),
                        "PET_MASTER_ADDR": names[0], "PET_MASTER_PORT": "23456"})
        return env

    def mounts(self, workload, spec):
        storage, out, own = spec.get("storage", {}), [], self.folder / "volumes"
        own.mkdir(exist_ok=True)
        for one in storage.get("hostPath", []):
            out.append((one["path"], one["mountPath"], one.get("readOnly", False)))
        for one in storage.get("nfs", []):
            export = f"{one['server']}:{one['path']}"
            if export not in self.settings["exports"]:
                raise Waiting("FailedMount", f"mount.nfs: access denied by server while mounting {export}")
            out.append((self.settings["exports"][export], one["mountPath"], one.get("readOnly", False)))
        for number, one in enumerate(storage.get("pvc", [])):
            claim = one.get("claimName", f"{workload['name']}-{number}")
            folder = self.settings["claims"].get(claim) or (None if one.get("existingPvc") else own / claim)
            if folder is None:
                raise Waiting("FailedScheduling", f"persistentvolumeclaim \"{claim}\" not found")
            if not one.get("existingPvc"):
                folder.mkdir(exist_ok=True)
            out.append((folder, one["path"], one.get("readOnly", False)))
        for number, one in enumerate(storage.get("emptyDirVolume", [])):
            folder = own / f"{self.run(workload)}-{number}"
            folder.mkdir(exist_ok=True)
            out.append((folder, one["path"], False))
        for number, one in enumerate(storage.get("secretVolume", [])):
            out.append((self.secret_folder(workload, own, number, one["secret"]), one["mountPath"], True))
        for kind in ("git", "s3", "configMapVolume", "dataVolume"):
            if storage.get(kind):
                raise Waiting("FailedMount", f"there is nothing behind storage.{kind} here")
        return out

    def secret_folder(self, workload, own, number, name):
        values, folder = self.secret(workload["projectId"], name), own / f"{self.run(workload)}-secret-{number}"
        if values is None:
            raise Waiting("FailedMount", f"MountVolume.SetUp failed: secret \"{name}\" not found")
        folder.mkdir(mode=0o700, exist_ok=True)
        for key, value in values.items():
            (folder / key).touch(0o600)
            (folder / key).write_text(value)
        return folder

    def split(self, text):
        return shlex.split(text) if self.settings["split"] == "shell" else text.split()

    def replica(self, workload, index, name):
        body = self.bodies.all[workload["id"]]
        master = workload["master"] and index == 0
        spec = {**body["spec"], **(body.get("masterSpec", {}) if master else {})}
        compute, hosts = spec.get("compute", {}), [name] if workload["kind"] == "distributed" else []
        security, namespace = spec.get("security", {}), self.namespace(workload)
        user = f"{security['runAsUid']}:{security.get('runAsGid', 0)}" if "runAsUid" in security else ""
        return Replica(
            name=name, image=spec["image"], command=self.split(spec.get("command", "")) + self.split(spec.get("args", "")),
            env=self.environment(workload, spec, index, name), mounts=self.mounts(workload, spec),
            hosts=hosts + [f"{host}.{namespace}.svc{end}" for host in hosts for end in ("", ".cluster.local")],
            memory=size(compute["cpuMemoryLimit"]) if "cpuMemoryLimit" in compute else 0,
            shm=SHM * 16 if compute.get("largeShmRequest") else SHM, user=user, workdir=spec.get("workingDir", ""),
            hostname=name)

    # ---- phases ----------------------------------------------------------------------------------------

    def gpus(self, workload):
        compute = self.spec(workload).get("compute", {})
        wants = compute.get("gpuDevicesRequest", self.settings["policy_gpus"])
        return wants * compute.get("gpuPortionRequest", 1) * len(self.pod_names(workload))

    def gpus_in_use(self):
        return sum(self.gpus(one) for one in self.live() if one["begun"] and any(
            pod["phase"] in ("Pending", "Running") for pod in self.pods(one)))

    def turn(self, workload, phase, message="", reason=None):
        if (workload["phase"], workload["message"]) == (phase, message):
            return
        workload.update(phase=phase, message=message, reason=reason, phaseUpdatedAt=stamp())
        workload["completedAt"] = stamp() if phase in FINAL else None
        self.workloads.put(workload["id"], workload)

    def event(self, workload, reason, message):
        """One that repeats is kept once."""
        if not any((one["reason"], one["message"]) == (reason, message) for one in workload["events"]):
            workload["events"].append({
                "id": str(uuid.uuid4()), "type": "Warning", "reason": reason, "message": message, "createdAt": stamp(),
                "source": "kubelet", "clusterId": self.settings["cluster"], "involvedObject": {
                    "uid": workload["id"], "kind": "Pod", "name": self.pod_names(workload)[0],
                    "namespace": self.namespace(workload)}})
            self.workloads.put(workload["id"], workload)

    def advance(self):
        for workload in self.live():
            with self.lock:
                if workload["desired"] != "Running":
                    self.end(workload)
                elif workload["phase"] in FINAL:
                    self.expire(workload)
                elif workload["begun"]:
                    self.judge(workload)
                elif workload["id"] not in self.beginning:
                    self.schedule(workload)

    def running(self, workload):
        return [pod for pod in self.pods(workload) if pod["phase"] == "Running"]

    def stop_pods(self, workload):
        self.fleet.stop(self.run(workload), len(self.pod_names(workload)),
                        self.spec(workload).get("terminationGracePeriodSeconds", GRACE_S))

    def end(self, workload):
        """Suspended or deleted: its pods go, and their logs with them."""
        if workload["id"] in self.beginning:
            return
        if self.running(workload):
            self.stop_pods(workload)
            return
        if workload["begun"]:
            workload.update(begun=None, tries=workload["tries"] + 1, deleted=[])
        if workload["desired"] == "Deleted":
            workload["deletedAt"] = stamp()
            self.workloads.put(workload["id"], workload)
        else:
            self.turn(workload, "Stopped")

    def expire(self, workload):
        policy = self.spec(workload).get("cleanPodPolicy", "None")
        if policy != "None":
            if self.running(workload):
                self.stop_pods(workload)
            gone = [pod["index"] for pod in self.pods(workload) if policy == "All" or pod["index"] in workload["surplus"]]
            workload["deleted"] = sorted({*workload["deleted"], *gone})
        after = self.spec(workload).get("autoDeletionTimeAfterCompletionSeconds", 30 * 86400)
        if stamp(time.time() - after) > workload["completedAt"]:
            workload["desired"] = "Deleted"

    def schedule(self, workload):
        wants = self.gpus(workload)
        if self.spec(workload).get("preemptibility") == "non-preemptible" and wants > self.settings["quota"]:
            self.turn(workload, "Pending", f"{wants} GPUs are more than the project's quota", "NonPreemptibleOverQuota")
            return
        if not self.fleet.socket:                # nothing runs here: it stays in its first phase
            return
        if wants and wants + self.gpus_in_use() > self.settings["gpus"]:
            self.event(workload, "Unschedulable", f"0/1 nodes are available: {wants} GPUs are not free")
            self.turn(workload, "Pending", "Not enough resources in the requested node pools", "OverLimit")
            return
        if self.not_before.get(workload["id"], 0) <= time.monotonic():
            self.beginning.add(workload["id"])
            threading.Thread(target=self.begin, args=(workload,), daemon=True).start()

    def begin(self, workload):
        begun = stamp()
        try:
            replicas = [self.replica(workload, *one) for one in enumerate(self.pod_names(workload))]
            self.fleet.start(self.run(workload), replicas)
            why = None
        except Waiting as waits:
            why = waits.args
        except NotRunnable as waits:
            why = ("Failed", str(waits))
        with self.lock:
            if why:
                self.not_before[workload["id"]] = time.monotonic() + 1
                self.event(workload, *why)
                if workload["desired"] == "Running":
                    self.turn(workload, "Initializing", why[1])
            else:
                workload["begun"] = begun
                self.workloads.put(workload["id"], workload)
            self.beginning.discard(workload["id"])
        self.wake.set()

    def judge(self, workload):
        spec, phases = self.spec(workload), [pod["phase"] for pod in self.pods(workload)]
        if "Failed" in phases:
            never = workload["kind"] == "distributed" and spec.get("restartPolicy") == "Never"
            if workload["failures"] < (0 if never else spec.get("backoffLimit", RETRIES)):
                self.try_again(workload)
                return
            workload["surplus"] = [pod["index"] for pod in self.running(workload)]
            names = [pod["name"] for pod in self.pods(workload) if pod["phase"] == "Failed"]
            self.turn(workload, "Failed", f"pod {names[0]} failed")
        elif all(phase == "Succeeded" for phase in phases):
            self.turn(workload, "Completed")
        elif all(phase != "Pending" for phase in phases):
            self.turn(workload, "Running")

    def try_again(self, workload):
        if self.running(workload):
            self.stop_pods(workload)
            return
        workload.update(begun=None, tries=workload["tries"] + 1, failures=workload["failures"] + 1, deleted=[])
        self.turn(workload, "Updating")

    # ---- logs ---------------------------------------------------------------------------------------------

    def pod_log(self, workload, index, since_ns=0, tail=None, times=False, follow=False, most=None):
        """Pieces of the log of a pod, of whole lines."""
        run = self.run(workload)
        lines = self.fleet.lines(run, index)
        at = lines.offset(since_ns)
        if tail is not None:
            at = max(at, self.last_lines(lines, tail))
        while True:
            over = self.fleet.replica(run, index)["state"] != "running"
            while data := self.read_lines(run, index, at):
                at += len(data)
                piece = with_times(data) if times else re.sub(rb"(?m)^.{%d}" % STAMP, b"", data)
                yield piece if most is None else piece[:most]
                most = None if most is None else most - len(piece)
                if most is not None and most <= 0:
                    return
            if over or not follow:
                return
            time.sleep(POLL_S)

    @staticmethod
    def last_lines(lines, count):
        at = lines.end
        for _ in range(count):
            if at == 0:
                break
            at = lines.data.rfind(b"\n", 0, at - 1) + 1
        return at

    def read_lines(self, run, index, at):
        path = self.fleet.file(run, index, "log")
        if not path.exists():
            return b""
        with open(path, "rb") as file:
            file.seek(at)
            data = file.read(PIECE)
            while data and b"\n" not in data and (more := file.read(PIECE)):
                data += more
        return data[:data.rfind(b"\n") + 1]
