# SPDX-License-Identifier: Apache-2.0
#
# try_roles.py - a job with the roles of Cosmos-RL on a real cluster: who is what, and do they find each other?
#
#   tests/slurm/cluster --nodes 4 -- python3 tests/slurm/try_roles.py SLIPWAY [CASE...]
import json
import sys

from cluster_client import BASE, ROOT, control, main

COSMOS = {"policy_nodes": 2, "rollout_nodes": 2, "controller_port": 8123}

# Rank 0 is the controller, too: everybody tells it at COSMOS_CONTROLLER_HOST what it was given.
PLAY = """import json, os, socket, threading, time
names = [n for n in os.environ if n.startswith(("COSMOS_", "CONTROLLER_", "NUM_", "CUDA_", "SLURM_PROCID"))]
mine = {n: os.environ[n] for n in names + ["NODE_RANK", "TOTAL_NODES", "POLICY_NODES", "ROLLOUT_NODES",
        "LOCAL_NODE_LIST", "LD_LIBRARY_PATH", "WORLD_SIZE", "MASTER_ADDR"]}
host, port = os.environ["COSMOS_CONTROLLER_HOST"].rsplit(":", 1)
heard = []
def controller():
    server = socket.create_server((host, int(port)))
    while len(heard) < int(os.environ["TOTAL_NODES"]):
        other, _ = server.accept()
        heard.append(json.loads(other.makefile().readline()))
if os.environ["COSMOS_CONTROLLER"] == "1":
    thread = threading.Thread(target=controller)
    thread.start()
for _ in range(200):
    try:
        socket.create_connection((host, int(port))).sendall((json.dumps(mine) + chr(10)).encode())
        break
    except OSError:
        time.sleep(0.05)
else:
    raise SystemExit("no answer at " + host)
if os.environ["COSMOS_CONTROLLER"] == "1":
    thread.join()
    print("HEARD " + json.dumps(heard))
"""


def every_role_gets_what_the_launchers_read(here):
    path = f"{BASE}/play.py"
    with open(path, "w", encoding="utf-8") as file:
        file.write(PLAY)
    job = here.submit(f"python3 {path}", nodes=4, slurm={"cosmos": COSMOS})
    said = here.as_user("scontrol", "show", "job", here.slurm_id(job))
    here.wait(job)
    assert here.status(job)["status"] == "Complete", here.log(job)
    assert "MinMemoryNode=0" in said, said                           # whole nodes
    heard = json.loads(here.log(job).partition("HEARD ")[2].splitlines()[0])
    heard.sort(key=lambda one: int(one["NODE_RANK"]))
    assert [one["NODE_RANK"] for one in heard] == ["0", "1", "2", "3"]
    assert [one["COSMOS_ROLE"] for one in heard] == ["policy", "policy", "rollout", "rollout"]
    assert [one["COSMOS_ROLE_RANK"] for one in heard] == ["0", "1", "0", "1"]
    assert [one["COSMOS_CONTROLLER"] for one in heard] == ["1", "0", "0", "0"]
    assert [one["LOCAL_NODE_LIST"] for one in heard] == ["n1 n2", "n1 n2", "n3 n4", "n3 n4"]
    assert [one["SLURM_PROCID"] for one in heard] == ["0", "1", "2", "3"]      # Slurm's words stay for this one
    for one in heard:
        assert one["POLICY_NODES"] == "n1 n2" and one["ROLLOUT_NODES"] == "n3 n4", one
        assert (one["TOTAL_NODES"], one["NUM_POLICY_NODES"], one["NUM_ROLLOUT_NODES"]) == ("4", "2", "2"), one
        assert one["COSMOS_CONTROLLER_HOST"] == "n1:8123" and one["CONTROLLER_NODE"] == one["MASTER_ADDR"] == "n1", one
        assert one["CONTROLLER_PORT"] == "8123" and one["WORLD_SIZE"] == "4", one
        assert one["COSMOS_CACHE"] == f"{BASE}/.cache/cosmos" and one["CUDA_OVERRIDE_VERSION"] == "12.8", one
        assert one["CUDA_HOME"] == one["CUDA_PATH"] == "/usr/local/cuda-12.8", one
        assert one["LD_LIBRARY_PATH"].startswith("/usr/local/cuda-12.8/lib64"), one


def roles_are_known_in_a_container_too(here):
    control("make-sqsh", f"{ROOT}/lustre/roles.sqsh")
    job = here.submit("echo $COSMOS_ROLE $COSMOS_ROLE_RANK $COSMOS_CONTROLLER_HOST $CUDA_HOME", nodes=3,
                        image=f"{ROOT}/lustre/roles.sqsh", env={"CUDA_OVERRIDE_VERSION": "13.0"},
                        slurm={"cosmos": {"policy_nodes": 1, "rollout_nodes": 2}})
    here.wait(job)
    logs = [here.log(job)] + [here.call("logs", job, "--rank", str(rank)).stdout for rank in (1, 2)]
    for log, says in zip(logs, ("policy 0", "rollout 0", "rollout 1")):
        assert f"{says} n1:8082 /usr/local/cuda-13.0\n" in log, log


def a_role_that_fails_ends_the_others(here):
    job = here.submit("[ $COSMOS_ROLE = policy ] || exit 9; sleep 300", nodes=3, retry={"max": 0},
                        slurm={"cosmos": {"policy_nodes": 2, "rollout_nodes": 1}})
    here.wait(job, 120)
    status = here.status(job)
    assert status["exit_code"] == 9 and status["failed_replica"] == 2, status


def roles_that_do_not_add_up_are_refused(here):
    done = here.call("run", "-d", here.job_file("true", nodes=3, slurm={"cosmos": COSMOS}), check=False)
    assert done.returncode != 0 and "has 4 nodes, the job 3" in done.stderr, done.stderr


if __name__ == "__main__":
    sys.exit(main(globals()))
