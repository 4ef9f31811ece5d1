# SPDX-License-Identifier: Apache-2.0
#
# try_retry.py - jobs on a real cluster that try again by themselves, with no client running.
#
#   tests/slurm/cluster --nodes 3 --partition 'scrap PriorityTier=1 PreemptMode=CANCEL' -- \
#       python3 tests/slurm/try_retry.py SLIPWAY [CASE...]
#
# Each case submits detached, lets things break, and reads what the job itself left: its records, Slurm's
# accounting, and then what a client says that looks only now.
import glob
import os
import sys

from cluster_client import BASE, SlurmClient, control, main, until


def a_program_error_surfaces_at_once(here):
    job = here.submit("echo 'Traceback (most recent call last):'; echo 'KeyError: 1'; exit 3")
    here.wait(job)
    runs = here.attempts(job)
    assert len(runs) == 2 and runs[1]["action"] == "none", runs
    assert here.status(job)["status"] == "Error" and here.status(job)["exit_code"] == 3


def an_infrastructure_error_goes_to_another_node_once(here):
    job = here.submit("echo \"attempt $SLIPWAY_ATTEMPT on $SLURMD_NODENAME\"\n"
                        "[ $SLIPWAY_ATTEMPT != 1 ] || { echo 'GPU has fallen off the bus'; exit 1; }",
                        retry={"wait": "1s"})
    here.wait(job)
    first, end, second, last = here.attempts(job)
    assert end["cause"] == "gpu" and end["action"] == "successor", end
    assert second["nodes"] != first["nodes"], (first, second)
    assert end["next"] == second["slurm_job_id"] != first["slurm_job_id"]
    assert last["exit_code"] == 0 and here.status(job)["status"] == "Complete"
    here.had_ids(job, 2)
    log = here.log(job)
    assert "attempt 1 on" in log and "attempt 2 on" in log, log


def retries_are_bounded(here):
    job = here.submit("echo 'GPU has fallen off the bus'; exit 1", retry={"wait": "1s", "max": 2})
    here.wait(job)
    runs = here.attempts(job)
    assert [run["action"] for run in runs if run["event"] == "end"] == ["successor", "successor", "none"], runs
    assert here.status(job)["status"] == "Error"
    here.had_ids(job, 3)


def runs_again_without(client, job, node):
    """Its node is killed, and comes back when its second run is over."""
    control("kill-node", node)
    try:
        until(lambda: [run for run in client.attempts(job) if run["attempt"] == 2], "a second run", 300)
        client.wait(job)
    finally:
        control("start-node", node)


def a_killed_node_is_followed_by_a_new_run_without_a_client(here):
    job = here.submit("echo \"attempt $SLIPWAY_ATTEMPT\"; [ $SLIPWAY_ATTEMPT != 1 ] || sleep 300")
    runs_again_without(here, job, here.running_on(job))
    seen = here.over(job)
    assert seen["status"] == "Complete", seen
    assert "attempt 2" in here.log(job)
    here.had_ids(job, 1)                              # Slurm's own restart keeps the id


def an_image_error_is_requeued_under_the_same_id(here):
    # Only a reason that names no node: the setup line plays the part of the failing import.
    job = here.submit("echo here", retry={"wait": "1s"},
                        slurm={"setup_lines": ["[ $SLIPWAY_ATTEMPT != 1 ] || slipway_give_up 78 image-error "
                                         "'\"no image\"'"]})
    here.wait(job)
    runs = here.attempts(job)
    assert runs[1]["cause"] == "image" and runs[1]["action"] == "requeue", runs
    assert runs[2]["restart"] == 1 and runs[2]["slurm_job_id"] == runs[0]["slurm_job_id"]
    assert here.status(job)["status"] == "Complete"


def a_canceled_job_does_not_come_back(here):
    job = here.submit("trap 'echo GPU has fallen off the bus; exit 1' TERM; sleep 300 & wait",
                        retry={"wait": "1s"})
    here.running_on(job)
    here.call("cancel", job)
    assert here.status(job)["status"] == "Canceled"
    here.had_ids(job, 1)


def scancel_by_hand_does_not_start_another(here):
    job = here.submit("sleep 300", retry={"wait": "1s"})
    here.running_on(job)
    here.as_user("scancel", here.slurm_id(job))
    here.wait(job)
    here.had_ids(job, 1)
    assert here.status(job)["status"] == "Canceled", here.status(job)


SAVES = """if [ -n "$SLIPWAY_RESUME_FROM" ]; then echo "goes on from ${SLIPWAY_RESUME_FROM##*/}"; exit 0; fi
mkdir -p /results/ckpt; [ $NODE_RANK != 0 ] || echo weights > /results/ckpt/epoch_7.ckpt; sleep 300"""


def the_time_limit_goes_on_from_a_checkpoint(here):
    job = here.submit(SAVES, checkpoint={"dir": "/results/ckpt"}, outputs=["/results"], retry={"wait": "1s"},
                        slurm={"timeout_hours": 0.002})
    here.wait(job)
    runs = here.attempts(job)
    assert runs[1]["cause"] == "time" and runs[1]["action"] == "requeue", runs
    assert "goes on from epoch_7.ckpt" in here.log(job), here.log(job)
    assert here.status(job)["status"] == "Complete", here.status(job)


def a_preempted_job_goes_on_from_its_checkpoint(here):
    job = here.submit(SAVES, checkpoint={"dir": "/results/ckpt"}, outputs=["/results"], nodes=3, slurm={"partition": ["low"], "exclusive": True})
    here.running_on(job)
    other = here.submit("sleep 1", nodes=3, slurm={"partition": ["high"], "exclusive": True})
    here.wait(other)
    here.wait(job)
    assert here.status(job)["status"] == "Complete", here.status(job)
    assert len([run for run in here.attempts(job) if run["event"] == "begin"]) == 2
    assert "goes on from epoch_7.ckpt" in here.log(job), here.log(job)


def a_job_canceled_by_preemption_comes_back(here):
    """PreemptMode=CANCEL: Slurm ends the job for good, so it submits its own successor; unless it is still early
    enough for a requeue."""
    job = here.submit("echo \"attempt $SLIPWAY_ATTEMPT\"; [ $SLIPWAY_ATTEMPT != 1 ] || sleep 300",
                        nodes=3, retry={"wait": "1s"}, slurm={"partition": ["scrap"], "exclusive": True})
    here.running_on(job)
    other = here.submit("sleep 1", nodes=3, slurm={"partition": ["high"], "exclusive": True})
    here.wait(other)
    here.wait(job)
    runs = here.attempts(job)
    assert runs[1]["cause"] == "preempted" and runs[1]["action"] in ("successor", "requeue"), runs
    assert [run["attempt"] for run in runs if run["event"] == "begin"] == [1, 2], runs
    assert here.status(job)["status"] == "Complete", here.status(job)


def one_who_watches_sees_one_job_from_begin_to_end(here):
    done = here.call("run", here.job_file(
        "echo \"attempt $SLIPWAY_ATTEMPT\"\n[ $SLIPWAY_ATTEMPT != 1 ] || { echo 'GPU has fallen off the bus'; exit 1; }",
        retry={"wait": "1s"}))
    assert "attempt 1" in done.stdout and "attempt 2" in done.stdout, done.stdout
    assert len(here.call("ps", "--all", "-o", "name").stdout.split()) == 1
    assert "attempt 2; attempt 1 ended: gpu" in done.stderr + here.call("status", "last").stdout, done.stderr


def loses_a_node_and_runs_again(client, job):
    first = client.running_on(job)
    node = client.as_user("scontrol", "show", "hostnames", first).split()[-1]     # not the batch host
    runs_again_without(client, job, node)
    assert client.status(job)["status"] == "Complete", client.status(job)


def a_node_lost_from_under_several_is_followed_by_a_new_run(here):
    job = here.submit("echo \"attempt $SLIPWAY_ATTEMPT rank $NODE_RANK\"; [ $SLIPWAY_ATTEMPT != 1 ] || sleep 300",
                        nodes=2)
    loses_a_node_and_runs_again(here, job)


def a_node_that_is_gone_when_the_ranks_start_is_not_the_programs_fault(here):
    job = here.submit("echo \"attempt $SLIPWAY_ATTEMPT rank $NODE_RANK\"", nodes=2, retry={"wait": "1s"},
                        slurm={"setup_lines": ["[ $SLIPWAY_ATTEMPT != 1 ] || sleep 5"]})
    loses_a_node_and_runs_again(here, job)


def a_task_of_an_array_is_requeued_alone(here):
    job = here.submit("[ $SLIPWAY_ATTEMPT$SLURM_ARRAY_TASK_ID != 11 ] || { echo 'GPU has fallen off the bus'; exit 1; }",
                        retry={"wait": "1s"}, slurm={"array": "0-2"})
    here.wait(job)
    runs = {task: [run.get("action") for run in here.attempts(job, f"/task-{task}") if run["event"] == "end"]
            for task in range(3)}
    assert runs == {0: ["none"], 1: ["requeue", "none"], 2: ["none"]}, runs
    here.completed(job)


ONCE = "[ $SLIPWAY_ATTEMPT != 1 ] || { sleep 4; echo 'GPU has fallen off the bus'; exit 1; }"


def jobs_that_wait_follow_it_to_another_node(here):
    first = here.submit(ONCE, retry={"wait": "1s"})
    number = here.slurm_id(first)
    waiting = [here.submit(ONCE, retry={"wait": "1s"}, slurm={"dependency": f"afterok:{number}"}),
               here.submit("true", slurm={"dependency": f"afterok:{first}"}),
               here.submit("true", slurm={"dependency": f"afterany:{number},afterok:{first}"})]
    here.wait(first)
    assert here.slurm_id(first) != number
    ended = here.attempts(first)[-1]["at"]
    for job in waiting:
        here.wait(job)
        assert here.attempts(job) and here.attempts(job)[0]["at"] >= ended, (here.attempts(job), ended)
        assert here.status(job)["status"] == "Complete", here.status(job)
    here.had_ids(waiting[0], 2)                   # it had a successor itself, which waited for no job
    late = here.submit("true", slurm={"dependency": f"afterok:{first}"})
    here.wait(late)
    assert here.status(late)["status"] == "Complete"


def what_cannot_happen_any_more_is_not_waited_for(here):
    failed = here.submit("exit 3", retry={"max": 0})
    here.wait(failed)
    for waits, word in ((f"afterok:{failed}", "not ended well"), ("afterok:missing-job", "there is no job")):
        done = here.call("run", "-d", here.job_file("true", slurm={"dependency": waits}), check=False)
        assert done.returncode != 0 and word in done.stderr, done.stderr
    other = here.submit("true", slurm={"dependency": f"afternotok:{failed}"})
    here.wait(other)
    assert here.status(other)["status"] == "Complete"


def every_attempt_is_in_the_status_and_has_its_log(here):
    job = here.submit("echo \"rank $NODE_RANK attempt $SLIPWAY_ATTEMPT\"\n"
                        "touch {results_dir}/$NODE_RANK-$SLIPWAY_ATTEMPT\n"          # both have spoken before one fails
                        "until [ -e {results_dir}/$((1 - NODE_RANK))-$SLIPWAY_ATTEMPT ]; do sleep 0.1; done\n"
                        "[ $SLIPWAY_ATTEMPT -gt 2 ] || { echo 'GPU has fallen off the bus'; exit 1; }",
                        nodes=2, retry={"wait": "1s"})
    here.wait(job)
    told = here.status(job)
    assert (told["attempt"], told["status"]) == (3, "Complete"), told
    assert [(one["attempt"], one["status"], one["exit_code"], one["cause"]) for one in told["attempts"]] == [
        (1, "Error", 1, "gpu"), (2, "Error", 1, "gpu"), (3, "Complete", 0, None)], told["attempts"]
    assert len({one["backend_job_id"] for one in told["attempts"]}) == 3, told["attempts"]
    for attempt in (1, 2, 3):
        for rank in (0, 1):
            said = here.call("logs", job, "--attempt", str(attempt), "--rank", str(rank)).stdout
            others = [n for n in (1, 2, 3) if f"rank {rank} attempt {n}\n" in said]
            assert others == [attempt], (attempt, rank, said)
    assert here.log(job).count("attempt 2\n") == 2, here.log(job)            # without a number: all of it
    assert here.call("logs", job, "--attempt", "4", check=False).returncode != 0
    retries = [event for event in here.call("events", job, "-o", "json").stdout.splitlines()
               if '"kind":"attempt"' in event.replace(" ", "")]
    assert len(retries) == 2, retries

    other = SlurmClient(here.program)                      # one who comes later sees the same
    other.call("adopt", job, "-p", "slurm")
    assert [one["attempt"] for one in other.status(job)["attempts"]] == [1, 2, 3]
    other.close()

    here.call("retry", job)                        # by hand: the next number, and folders of its own
    until(lambda: here.status(job)["status"] == "Complete" and here.status(job)["attempt"] == 4, "the fourth")
    assert "attempt 4\n" in here.call("logs", job, "--attempt", "4").stdout
    assert "rank 0 attempt 2\n" in here.call("logs", job, "--attempt", "2").stdout
    here.call("rm", job)


def the_rank_that_failed_first_is_heard(here):
    job = here.submit("[ $NODE_RANK$SLIPWAY_ATTEMPT != 11 ] || { echo 'GPU has fallen off the bus'; exit 1; }\n"
                        "[ $SLIPWAY_ATTEMPT != 1 ] || sleep 300", nodes=2, retry={"wait": "1s"})
    here.wait(job)
    assert here.attempts(job)[1]["cause"] == "gpu", here.attempts(job)
    assert here.status(job)["status"] == "Complete"


def rules_of_the_user_decide_there_too(here):
    with open(os.path.join(here.folder, "env.toml"), "w", encoding="utf-8") as file:
        file.write('[[rules]]\npattern = "flux capacitor"\ncause = "gpu"\nclass = "ERR_INFRA"\n')
    job = here.submit("echo \"attempt $SLIPWAY_ATTEMPT\"\n"
                        "[ $SLIPWAY_ATTEMPT != 1 ] || { echo 'the flux capacitor is dry'; exit 9; }", retry={"wait": "1s"})
    here.wait(job)
    end = here.attempts(job)[1]
    assert (end["cause"], end["action"]) == ("gpu", "successor"), end
    assert here.status(job)["status"] == "Complete"
    here.call("rm", job)
    assert not glob.glob(f"{BASE}/*/*{job}*"), glob.glob(f"{BASE}/*/*{job}*")


if __name__ == "__main__":
    sys.exit(main(globals()))
