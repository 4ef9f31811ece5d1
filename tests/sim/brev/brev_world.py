# SPDX-License-Identifier: Apache-2.0
"""brev_world.py - what Brev's service would know: logins, organisations, types, instances; in one folder.

The stand-in program (brev.c) reads and changes it under a lock; tests look at it and turn its switches:

    with World().held() as state:
        state["faults"]["create"] = "partial"

faults: create is "refuse", "partial" (an instance is left, broken), "lost" (made, without an answer) or "kill" (made,
and the caller is dead); slow: instances do not come up.
"""
import contextlib
import fcntl
import json
import os

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
        self.write({"ssh": ssh, "types": TYPES, "tokens": ["tok-good"],
                    "orgs": [{"name": "lab", "id": "org-1"}, {"name": "other", "id": "org-2"}],
                    "version": "v0.6.327", "instances": [], "made": 0, "faults": {}})

    def write(self, state):
        """A process that is killed leaves the old state or the new one."""
        with open(f"{self.path}.new", "w", encoding="utf-8") as out:
            json.dump(state, out)
        os.replace(f"{self.path}.new", self.path)

    @contextlib.contextmanager
    def held(self):
        """The state, to be read and changed."""
        with open(f"{self.folder}/lock", "a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with open(self.path, encoding="utf-8") as file:
                state = json.load(file)
            yield state
            self.write(state)

    def add(self, name, kind="g5.xlarge"):
        """An instance that is ready."""
        with self.held() as state:
            state["made"] += 1
            state["instances"].append({"name": name, "id": f"i{state['made']:07d}", "type": kind, "left": 0,
                                       "status": None, "org": "org-1"})

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
