# SPDX-License-Identifier: Apache-2.0
#
# try_oci.py - jobs in OCI bundles: Slurm's own --container, with runc, as a plain user.
#
#   tests/slurm/cluster --oci --no-pyxis -- python3 tests/slurm/try_oci.py SLIPWAY [CASE...]
import os
import subprocess
import sys

from bed_client import BASE, Client, control, main, until

ROOT = os.environ.get("SLIPWAY_BED", "")
BUNDLE = f"{ROOT}/lustre/box"
OCI = {"image": BUNDLE, "slurm": {"container": "oci"}, "retry": {"max": 0}}


def bundle(path=BUNDLE, *mounts):
    if not os.path.exists(path):
        control("make-bundle", path, *(mounts or [ROOT + "/lustre"]))


def rank_log(job, rank):
    with open(f"{BASE}/slurm-logs/tao-job-{job}.1/{rank}.out", encoding="utf-8") as file:
        return file.read()


def both_ranks_run_in_the_bundle_and_know_who_they_are(client):
    bundle()
    job = client.submit("cat /etc/image; echo I am $IMAGE_NAME rank $NODE_RANK of $NNODES on $SLURMD_NODENAME "
                        "master $MASTER_ADDR path $PATH; test -e /usr/bin/sbatch || echo no host", nodes=2, **OCI)
    client.wait(job)
    assert client.status(job)["status"] == "Complete", client.status(job)
    for rank, log in enumerate((client.log(job), rank_log(job, 1))):
        assert f"I am box rank {rank} of 2 on n{rank + 1} master n1 path /bin\n" in log and "no host" in log, log


def the_rank_that_fails_tells_its_code_and_the_others_are_ended(client):
    bundle()
    job = client.submit("[ $NODE_RANK = 1 ] && exit 7; sleep 300", nodes=2, **OCI)
    client.wait(job, 120)
    status = client.status(job)
    assert status["status"] == "Error" and status["exit_code"] == 7, status
    with open(f"{BASE}/meta/{job}.1/rank-1", encoding="utf-8") as file:
        assert file.read().split() == ["7", "n2"]                  # retry would keep away from n2, not n1


def a_job_that_is_canceled_hears_of_it_and_leaves_no_container(client):
    bundle()
    job = client.submit("trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done", **OCI)
    until("the command", lambda: "ready" in client.log(job))
    client.slipway("cancel", job)
    client.wait(job)
    assert client.status(job)["status"] == "Canceled", client.status(job)
    assert "saved" in client.log(job), client.log(job)
    number = client.slurm_id(job)                          # others may be left of jobs that were killed
    until("the end of the container", lambda: not [name for name in os.listdir(f"{ROOT}/oci/ann") if f".{number}." in name])


def results_and_inputs_are_folders_of_the_job(client):
    bundle()
    with open(f"{ROOT}/lustre/input", "w", encoding="utf-8") as file:
        file.write("what came in\n")
    job = client.submit("cat /data/in > /results/out", inputs={"/data/in": f"{ROOT}/lustre/input"},
                        outputs=["/results"], **OCI)
    client.wait(job)
    assert client.status(job)["status"] == "Complete", client.status(job)
    found = subprocess.run(["grep", "-rl", "what came in", f"{BASE}/results/{job}"], stdout=subprocess.PIPE, text=True,
                           check=False).stdout
    assert found.strip().endswith("/out"), found
    assert not os.path.exists(f"{BUNDLE}/rootfs/results"), "the bundle belongs to all who use it"


def secrets_reach_the_command_and_nothing_that_can_be_read(client):
    bundle()
    client.environment["HF_TOKEN"] = "canary-oci-4711"
    job = client.submit("echo token has ${#HF_TOKEN} letters; echo ready; while ! [ -e /tmp/go ]; do sleep 0.1; done",
                        secrets=["HF_TOKEN"], **OCI)
    until("the command", lambda: "ready" in client.log(job))
    found = subprocess.run(["grep", "-rls", "canary-oci-4711", f"{ROOT}/spool", f"{ROOT}/log", f"{ROOT}/oci", BUNDLE,
                            f"{BASE}/sbatch", f"{BASE}/entrypoints", f"{BASE}/meta", f"{BASE}/slurm-logs"],
                           stdout=subprocess.PIPE, text=True, check=False).stdout
    with open(f"{BUNDLE}/rootfs/tmp/go", "w", encoding="utf-8"):
        pass
    client.wait(job)
    os.remove(f"{BUNDLE}/rootfs/tmp/go")
    assert found == "", found
    assert "token has 15 letters" in client.log(job), client.log(job)
    assert not os.path.exists(f"{BASE}/env/{job}.secrets")


def what_cannot_run_so_is_refused(client):
    bundle()
    bundle(f"{ROOT}/lustre/bare", "/srv")
    for more, says in (({"image": f"{ROOT}/lustre/bare"}, f"has no mount for {BASE}"),
                       ({"image": "/nosuch/bundle"}, "/nosuch/bundle/config.json"),
                       ({"mounts": ["/tmp:/data"]}, "cannot mount anything into an OCI bundle"),
                       ({"launcher": "mpi"}, "MPI ranks")):
        done = client.slipway("run", "-d", client.job_file("true", **{**OCI, **more}), check=False)
        assert done.returncode != 0 and says in done.stderr, (more, done.stderr)
    assert client.as_user("squeue", "-h").strip() == ""


CASES = [both_ranks_run_in_the_bundle_and_know_who_they_are, the_rank_that_fails_tells_its_code_and_the_others_are_ended,
         a_job_that_is_canceled_hears_of_it_and_leaves_no_container, results_and_inputs_are_folders_of_the_job,
         secrets_reach_the_command_and_nothing_that_can_be_read, what_cannot_run_so_is_refused]

if __name__ == "__main__":
    sys.exit(main(CASES, Client))
