# SPDX-License-Identifier: Apache-2.0
#
# try_oci.py - jobs in OCI bundles: Slurm's own --container, with runc, as a plain user.
#
#   tests/slurm/cluster --oci --no-pyxis -- python3 tests/slurm/try_oci.py SLIPWAY [CASE...]
import os
import subprocess
import sys

from cluster_client import BASE, ROOT, control, main, until

BUNDLE = f"{ROOT}/lustre/box"
OCI = {"image": BUNDLE, "slurm": {"container": "oci"}, "retry": {"max": 0}}


def bundle(path=BUNDLE, *mounts):
    if not os.path.exists(path):
        control("make-bundle", path, *(mounts or [ROOT + "/lustre"]))


def rank_log(job, rank):
    with open(f"{BASE}/slurm-logs/tao-job-{job}.1/{rank}.out", encoding="utf-8") as file:
        return file.read()


def both_ranks_run_in_the_bundle_and_know_who_they_are(here):
    bundle()
    job = here.submit("cat /etc/image; echo I am $IMAGE_NAME rank $NODE_RANK of $NNODES on $SLURMD_NODENAME "
                        "master $MASTER_ADDR path $PATH; test -e /usr/bin/sbatch || echo no host", nodes=2, **OCI)
    here.wait(job)
    assert here.status(job)["status"] == "Complete", here.status(job)
    for rank, log in enumerate((here.log(job), rank_log(job, 1))):
        assert f"I am box rank {rank} of 2 on n{rank + 1} master n1 path /bin\n" in log and "no host" in log, log


def the_rank_that_fails_tells_its_code_and_the_others_are_ended(here):
    bundle()
    job = here.submit("[ $NODE_RANK = 1 ] && exit 7; sleep 300", nodes=2, **OCI)
    here.wait(job, 120)
    status = here.status(job)
    assert status["status"] == "Error" and status["exit_code"] == 7, status
    with open(f"{BASE}/meta/{job}.1/rank-1", encoding="utf-8") as file:
        assert file.read().split() == ["7", "n2"]                  # retry would keep away from n2, not n1


def a_job_that_is_canceled_hears_of_it_and_leaves_no_container(here):
    bundle()
    job = here.submit("trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done", **OCI)
    until(lambda: "ready" in here.log(job), "the command")
    here.call("cancel", job)
    here.wait(job)
    assert here.status(job)["status"] == "Canceled", here.status(job)
    assert "saved" in here.log(job), here.log(job)
    number = here.slurm_id(job)                          # others may be left of jobs that were killed
    until(lambda: not [name for name in os.listdir(f"{ROOT}/oci/ann") if f".{number}." in name], "the end of the container")


def results_and_inputs_are_folders_of_the_job(here):
    bundle()
    with open(f"{ROOT}/lustre/input", "w", encoding="utf-8") as file:
        file.write("what came in\n")
    job = here.submit("cat /data/in > /results/out", inputs={"/data/in": f"{ROOT}/lustre/input"},
                        outputs=["/results"], **OCI)
    here.wait(job)
    assert here.status(job)["status"] == "Complete", here.status(job)
    found = subprocess.run(["grep", "-rl", "what came in", f"{BASE}/results/{job}"], stdout=subprocess.PIPE, text=True,
                           check=False).stdout
    assert found.strip().endswith("/out"), found
    assert not os.path.exists(f"{BUNDLE}/rootfs/results"), "the bundle belongs to all who use it"


def secrets_reach_the_command_and_nothing_that_can_be_read(here):
    bundle()
    here.env["HF_TOKEN"] = "canary-oci-4711"
    job = here.submit("echo token has ${#HF_TOKEN} letters; echo ready; while ! [ -e /tmp/go ]; do sleep 0.1; done",
                        secrets=["HF_TOKEN"], **OCI)
    until(lambda: "ready" in here.log(job), "the command")
    found = subprocess.run(["grep", "-rls", "canary-oci-4711", f"{ROOT}/spool", f"{ROOT}/log", f"{ROOT}/oci", BUNDLE,
                            f"{BASE}/sbatch", f"{BASE}/entrypoints", f"{BASE}/meta", f"{BASE}/slurm-logs"],
                           stdout=subprocess.PIPE, text=True, check=False).stdout
    with open(f"{BUNDLE}/rootfs/tmp/go", "w", encoding="utf-8"):
        pass
    here.wait(job)
    os.remove(f"{BUNDLE}/rootfs/tmp/go")
    assert found == "", found
    assert "token has 15 letters" in here.log(job), here.log(job)
    assert not os.path.exists(f"{BASE}/env/{job}.secrets")


def what_cannot_run_so_is_refused(here):
    bundle()
    bundle(f"{ROOT}/lustre/bare", "/srv")
    for more, says in (({"image": f"{ROOT}/lustre/bare"}, f"has no mount for {BASE}"),
                       ({"image": "/nosuch/bundle"}, "/nosuch/bundle/config.json"),
                       ({"mounts": ["/tmp:/data"]}, "cannot mount anything into an OCI bundle"),
                       ({"launcher": "mpi"}, "MPI ranks")):
        done = here.call("run", "-d", here.job_file("true", **{**OCI, **more}), check=False)
        assert done.returncode != 0 and says in done.stderr, (more, done.stderr)
    assert here.as_user("squeue", "-h").strip() == ""


if __name__ == "__main__":
    sys.exit(main(globals()))
