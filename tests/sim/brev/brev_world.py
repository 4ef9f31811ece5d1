# SPDX-License-Identifier: Apache-2.0
"""brev_world.py - what Brev's service would know: logins, organisations, types, instances; in one folder.

The stand-in program (bin/brev) reads and changes it under a lock; tests look at it and turn its switches:

    with World().held() as state:
        state["faults"]["create"] = "partial"

An instance comes up in steps, one for each list that shows it, and goes away in the same way, so no test
depends on a clock. Every call of the program is one line of FOLDER/calls.
"""
import contextlib
import fcntl
import json
import os

COMING = [("DEPLOYING", "PENDING", "NOT READY"), ("STARTING", "PENDING", "NOT READY"),
          ("RUNNING", "BUILDING", "NOT READY")]
READY = ("RUNNING", "COMPLETED", "READY")
TYPES = [
    {"type": "g5.xlarge", "gpu_name": "A10G", "gpu_count": 1, "price_per_hour": 1.21},
    {"type": "two.a100", "gpu_name": "A100", "gpu_count": 2, "price_per_hour": 3.40},
    {"type": "dear.a100", "gpu_name": "A100", "gpu_count": 2, "price_per_hour": 9.90},
    {"type": "eight.h100", "gpu_name": "H100", "gpu_count": 8, "price_per_hour": 31.0},
    {"type": "n2d-small", "gpu_name": "", "gpu_count": 0, "price_per_hour": 0.08},
]


class World:
    def __init__(self, folder=None):
        self.folder = folder or os.environ["SLIPWAY_BREV_WORLD"]
        self.path = f"{self.folder}/state.json"

    def make(self, ssh):
        """`ssh`: where every instance really is: {"host","port","user","key"}."""
        os.makedirs(self.folder, mode=0o700)
        with open(self.path, "w", encoding="utf-8") as out:
            json.dump({"ssh": ssh, "tokens": ["tok-good"], "orgs": [{"name": "lab", "id": "org-1"},
                                                                   {"name": "other", "id": "org-2"}],
                       "version": "v0.6.327", "instances": [], "made": 0, "faults": {}}, out)

    @contextlib.contextmanager
    def held(self):
        """The state, to be read and changed."""
        with open(self.path, "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            state = json.load(file)
            yield state
            file.seek(0)
            file.truncate()
            json.dump(state, file)

    def add(self, name, kind="g5.xlarge", ready=True):
        with self.held() as state:
            return add_instance(state, name, kind, ready)

    def names(self):
        with self.held() as state:
            return [instance["name"] for instance in state["instances"]]

    def calls(self, *words):
        """The argument lists of the calls that begin with these words."""
        if not os.path.exists(f"{self.folder}/calls"):
            return []
        with open(f"{self.folder}/calls", encoding="utf-8") as lines:
            argvs = [json.loads(line)["argv"] for line in lines]
        return [argv for argv in argvs if argv[:len(words)] == list(words)]


def add_instance(state, name, kind, ready=False, org="org-1"):
    state["made"] += 1
    known = {one["type"]: one for one in TYPES}[kind]
    instance = {"name": name, "id": f"i{state['made']:07d}", "type": kind, "gpu": known["gpu_name"] or "-",
                "kind": "gpu" if known["gpu_count"] else "cpu", "step": len(COMING) if ready else 0,
                "status": None, "org": org}
    state["instances"].append(instance)
    return instance


def shown(instance):
    """As `ls --json` shows it."""
    status, build, shell = COMING[instance["step"]] if instance["step"] < len(COMING) else READY
    if instance["status"]:
        status, shell = instance["status"], "NOT READY"
        build = "CREATE_FAILED" if status == "FAILURE" else "COMPLETED"
    return {"name": instance["name"], "id": instance["id"], "status": status, "build_status": build,
            "shell_status": shell, "health_status": "HEALTHY" if shell == "READY" else "UNAVAILABLE",
            "instance_type": instance["type"], "instance_kind": instance["kind"], "gpu": instance["gpu"]}


def advance(state):
    """A list was shown: time goes on."""
    for instance in list(state["instances"]):
        if instance["status"] == "DELETING":
            instance["lists"] = instance.get("lists", 0) + 1
            if instance["lists"] > 2:
                state["instances"].remove(instance)
        elif not instance["status"] and instance["step"] < len(COMING) and not state["faults"].get("slow"):
            instance["step"] += 1
