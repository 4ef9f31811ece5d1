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

from bed_client import BASE, Client, control, main, until


def a_program_error_surfaces_at_once(client):
    job = client.submit("echo 'Traceback (most recent call last):'; echo 'KeyError: 1'; exit 3")
    client.wait(job)
    runs = client.attempts(job)
    assert len(runs) == 2 and runs[1]["action"] == "none", runs
    assert client.status(job)["status"] == "Error" and client.status(job)["exit_code"] == 3


def an_infrastructure_error_goes_to_another_node_once(client):
    job = client.submit("echo \"attempt $SLIPWAY_ATTEMPT on $SLURMD_NODENAME\"\n"
                        "[ $SLIPWAY_ATTEMPT != 1 ] || { echo 'GPU has fallen off the bus'; exit 1; }",
                        retry={"wait": "1s"})
    client.wait(job)
    first, end, second, last = client.attempts(job)
    assert end["cause"] == "gpu" and end["action"] == "successor", end
    assert second["nodes"] != first["nodes"], (first, second)
    assert end["next"] == second["slurm_job_id"] != first["slurm_job_id"]
    assert last["exit_code"] == 0 and client.status(job)["status"] == "Complete"
    client.had_ids(job, 2)
    log = client.log(job)
    assert "attempt 1 on" in log and "attempt 2 on" in log, log


def retries_are_bounded(client):
    job = client.submit("echo 'GPU has fallen off the bus'; exit 1", retry={"wait": "1s", "max": 2})
    client.wait(job)
    runs = client.attempts(job)
    assert [run["action"] for run in runs if run["event"] == "end"] == ["successor", "successor", "none"], runs
    assert client.status(job)["status"] == "Error"
    client.had_ids(job, 3)


def a_killed_node_is_followed_by_a_new_run_without_a_client(client):
    job = client.submit("echo \"attempt $SLIPWAY_ATTEMPT\"; [ $SLIPWAY_ATTEMPT != 1 ] || sleep 300")
    node = client.running_on(job)
    control("kill-node", node)
    try:
        until("a second run", lambda: len(client.attempts(job)) >= 2, 300)
    finally:
        control("start-node", node)
    client.wait(job)
    assert client.status(job)["status"] == "Complete"
    assert "attempt 2" in client.log(job)
    client.had_ids(job, 1)                              # Slurm's own restart keeps the id


def an_image_error_is_requeued_under_the_same_id(client):
    # Only a reason that names no node: the setup line plays the part of the failing import.
    job = client.submit("echo here", retry={"wait": "1s"},
                        slurm={"setup": ["[ $SLIPWAY_ATTEMPT != 1 ] || slipway_give_up 78 image-error "
                                         "'\"no image\"'"]})
    client.wait(job)
    runs = client.attempts(job)
    assert runs[1]["cause"] == "image" and runs[1]["action"] == "requeue", runs
    assert runs[2]["restart"] == 1 and runs[2]["slurm_job_id"] == runs[0]["slurm_job_id"]
    assert client.status(job)["status"] == "Complete"


def a_canceled_job_does_not_come_back(client):
    job = client.submit("trap 'echo GPU has fallen off the bus; exit 1' TERM; sleep 300 & wait",
                        retry={"wait": "1s"})
    client.running_on(job)
    client.slipway("cancel", job)
    assert client.status(job)["status"] == "Canceled"
    client.had_ids(job, 1)


def scancel_by_hand_does_not_start_another(client):
    job = client.submit("sleep 300", retry={"wait": "1s"})
    client.running_on(job)
    client.as_user("scancel", client.slurm_id(job))
    client.wait(job)
    client.had_ids(job, 1)
    assert client.status(job)["status"] == "Canceled", client.status(job)


SAVES = """if [ -n "$SLIPWAY_RESUME_FROM" ]; then echo "goes on from ${SLIPWAY_RESUME_FROM##*/}"; exit 0; fi
mkdir -p /results/ckpt; [ $NODE_RANK != 0 ] || echo weights > /results/ckpt/epoch_7.ckpt; sleep 300"""


def the_time_limit_goes_on_from_a_checkpoint(client):
    job = client.submit(SAVES, checkpoint={"dir": "/results/ckpt"}, outputs=["/results"], retry={"wait": "1s"},
                        slurm={"timeout_hours": 0.002})
    client.wait(job)
    runs = client.attempts(job)
    assert runs[1]["cause"] == "time" and runs[1]["action"] == "requeue", runs
    assert "goes on from epoch_7.ckpt" in client.log(job), client.log(job)
    assert client.status(job)["status"] == "Complete", client.status(job)


def a_preempted_job_goes_on_from_its_checkpoint(client):
    job = client.submit(SAVES, checkpoint={"dir": "/results/ckpt"}, outputs=["/results"], nodes=3, slurm={"partition": ["low"], "exclusive": True})
    client.running_on(job)
    other = client.submit("sleep 1", nodes=3, slurm={"partition": ["high"], "exclusive": True})
    client.wait(other)
    client.wait(job)
    assert client.status(job)["status"] == "Complete", client.status(job)
    assert len([run for run in client.attempts(job) if run["event"] == "begin"]) == 2
    assert "goes on from epoch_7.ckpt" in client.log(job), client.log(job)


def a_job_canceled_by_preemption_comes_back(client):
    """PreemptMode=CANCEL: Slurm ends the job for good, so it submits its own successor; unless it is still early
    enough for a requeue."""
    job = client.submit("echo \"attempt $SLIPWAY_ATTEMPT\"; [ $SLIPWAY_ATTEMPT != 1 ] || sleep 300",
                        nodes=3, retry={"wait": "1s"}, slurm={"partition": ["scrap"], "exclusive": True})
    client.running_on(job)
    other = client.submit("sleep 1", nodes=3, slurm={"partition": ["high"], "exclusive": True})
    client.wait(other)
    client.wait(job)
    runs = client.attempts(job)
    assert runs[1]["cause"] == "preempted" and runs[1]["action"] in ("successor", "requeue"), runs
    assert [run["attempt"] for run in runs if run["event"] == "begin"] == [1, 2], runs
    assert client.status(job)["status"] == "Complete", client.status(job)


def one_who_watches_sees_one_job_from_begin_to_end(client):
    done = client.slipway("run", client.job_file(
        "echo \"attempt $SLIPWAY_ATTEMPT\"\n[ $SLIPWAY_ATTEMPT != 1 ] || { echo 'GPU has fallen off the bus'; exit 1; }",
        retry={"wait": "1s"}))
    assert "attempt 1" in done.stdout and "attempt 2" in done.stdout, done.stdout
    assert len(client.slipway("ps", "--all", "-o", "name").stdout.split()) == 1
    assert "attempt 2; attempt 1 ended: gpu" in done.stderr + client.slipway("status", "last").stdout, done.stderr


def loses_a_node_and_runs_again(client, job):
    first = client.running_on(job)
    node = client.as_user("scontrol", "show", "hostnames", first).split()[-1]     # not the batch host
    control("kill-node", node)
    try:
        until("a second run", lambda: [run for run in client.attempts(job) if run["attempt"] == 2], 300)
    finally:
        control("start-node", node)
    client.wait(job)
    assert client.status(job)["status"] == "Complete", client.status(job)


def a_node_lost_from_under_several_is_followed_by_a_new_run(client):
    job = client.submit("echo \"attempt $SLIPWAY_ATTEMPT rank $NODE_RANK\"; [ $SLIPWAY_ATTEMPT != 1 ] || sleep 300",
                        nodes=2)
    loses_a_node_and_runs_again(client, job)


def a_node_that_is_gone_when_the_ranks_start_is_not_the_programs_fault(client):
    job = client.submit("echo \"attempt $SLIPWAY_ATTEMPT rank $NODE_RANK\"", nodes=2, retry={"wait": "1s"},
                        slurm={"setup": ["[ $SLIPWAY_ATTEMPT != 1 ] || sleep 5"]})
    loses_a_node_and_runs_again(client, job)


def a_task_of_an_array_is_requeued_alone(client):
    job = client.submit("[ $SLIPWAY_ATTEMPT$SLURM_ARRAY_TASK_ID != 11 ] || { echo 'GPU has fallen off the bus'; exit 1; }",
                        retry={"wait": "1s"}, slurm={"array": "0-2"})
    client.wait(job)
    runs = {task: [run.get("action") for run in client.attempts(job, f"/task-{task}") if run["event"] == "end"]
            for task in range(3)}
    assert runs == {0: ["none"], 1: ["requeue", "none"], 2: ["none"]}, runs
    assert client.status(job)["status"] == "Complete", client.status(job)


ONCE = "[ $SLIPWAY_ATTEMPT != 1 ] || { sleep 4; echo 'GPU has fallen off the bus'; exit 1; }"


def jobs_that_wait_follow_it_to_another_node(client):
    first = client.submit(ONCE, retry={"wait": "1s"})
    number = client.slurm_id(first)
    waiting = [client.submit(ONCE, retry={"wait": "1s"}, slurm={"dependency": f"afterok:{number}"}),
               client.submit("true", slurm={"dependency": f"afterok:{first}"}),
               client.submit("true", slurm={"dependency": f"afterany:{number},afterok:{first}"})]
    client.wait(first)
    assert client.slurm_id(first) != number
    ended = client.attempts(first)[-1]["at"]
    for job in waiting:
        client.wait(job)
        assert client.attempts(job) and client.attempts(job)[0]["at"] >= ended, (client.attempts(job), ended)
        assert client.status(job)["status"] == "Complete", client.status(job)
    client.had_ids(waiting[0], 2)                   # it had a successor itself, which waited for nobody
    late = client.submit("true", slurm={"dependency": f"afterok:{first}"})
    client.wait(late)
    assert client.status(late)["status"] == "Complete"


def what_cannot_happen_any_more_is_not_waited_for(client):
    failed = client.submit("exit 3", retry={"max": 0})
    client.wait(failed)
    for waits, word in ((f"afterok:{failed}", "not ended well"), ("afterok:nobody-here", "there is no job")):
        done = client.slipway("run", "-d", client.job_file("true", slurm={"dependency": waits}), check=False)
        assert done.returncode != 0 and word in done.stderr, done.stderr
    other = client.submit("true", slurm={"dependency": f"afternotok:{failed}"})
    client.wait(other)
    assert client.status(other)["status"] == "Complete"


def every_attempt_is_in_the_status_and_has_its_log(client):
    job = client.submit("echo \"rank $NODE_RANK attempt $SLIPWAY_ATTEMPT\"\n"
                        "touch {results_dir}/$NODE_RANK-$SLIPWAY_ATTEMPT\n"          # both have spoken before one fails
                        "until [ -e {results_dir}/$((1 - NODE_RANK))-$SLIPWAY_ATTEMPT ]; do sleep 0.1; done\n"
                        "[ $SLIPWAY_ATTEMPT -gt 2 ] || { echo 'GPU has fallen off the bus'; exit 1; }",
                        nodes=2, retry={"wait": "1s"})
    client.wait(job)
    told = client.status(job)
    assert (told["attempt"], told["status"]) == (3, "Complete"), told
    assert [(one["number"], one["state"], one["exit_code"], one["cause"]) for one in told["attempts"]] == [
        (1, "Error", 1, "gpu"), (2, "Error", 1, "gpu"), (3, "Complete", 0, None)], told["attempts"]
    assert len({one["remote_id"] for one in told["attempts"]}) == 3, told["attempts"]
    for attempt in (1, 2, 3):
        for rank in (0, 1):
            said = client.slipway("logs", job, "--attempt", str(attempt), "--rank", str(rank)).stdout
            others = [n for n in (1, 2, 3) if f"rank {rank} attempt {n}\n" in said]
            assert others == [attempt], (attempt, rank, said)
    assert client.log(job).count("attempt 2\n") == 2, client.log(job)            # without a number: all of it
    assert client.slipway("logs", job, "--attempt", "4", check=False).returncode != 0
    retries = [event for event in client.slipway("events", job, "-o", "json").stdout.splitlines()
               if '"kind":"attempt"' in event.replace(" ", "")]
    assert len(retries) == 2, retries

    other = Client(client.program)                      # one who comes later sees the same
    other.slipway("adopt", job, "-p", "slurm")
    assert [one["number"] for one in other.status(job)["attempts"]] == [1, 2, 3]
    other.close()

    client.slipway("retry", job)                        # by hand: the next number, and folders of its own
    until("the fourth", lambda: client.status(job)["status"] == "Complete" and client.status(job)["attempt"] == 4)
    assert "attempt 4\n" in client.slipway("logs", job, "--attempt", "4").stdout
    assert "rank 0 attempt 2\n" in client.slipway("logs", job, "--attempt", "2").stdout
    client.slipway("rm", job)


def the_rank_that_failed_first_is_heard(client):
    job = client.submit("[ $NODE_RANK$SLIPWAY_ATTEMPT != 11 ] || { echo 'GPU has fallen off the bus'; exit 1; }\n"
                        "[ $SLIPWAY_ATTEMPT != 1 ] || sleep 300", nodes=2, retry={"wait": "1s"})
    client.wait(job)
    assert client.attempts(job)[1]["cause"] == "gpu", client.attempts(job)
    assert client.status(job)["status"] == "Complete"


def rules_of_the_user_decide_there_too(client):
    with open(os.path.join(client.home, "env.toml"), "w", encoding="utf-8") as file:
        file.write('[[rules]]\npattern = "flux capacitor"\ncause = "gpu"\nclass = "ERR_INFRA"\n')
    job = client.submit("echo \"attempt $SLIPWAY_ATTEMPT\"\n"
                        "[ $SLIPWAY_ATTEMPT != 1 ] || { echo 'the flux capacitor is dry'; exit 9; }", retry={"wait": "1s"})
    client.wait(job)
    end = client.attempts(job)[1]
    assert (end["cause"], end["action"]) == ("gpu", "successor"), end
    assert client.status(job)["status"] == "Complete"
    client.slipway("rm", job)
    assert not glob.glob(f"{BASE}/*/*{job}*"), glob.glob(f"{BASE}/*/*{job}*")


CASES = [the_rank_that_failed_first_is_heard, rules_of_the_user_decide_there_too,
         every_attempt_is_in_the_status_and_has_its_log,
         jobs_that_wait_follow_it_to_another_node, what_cannot_happen_any_more_is_not_waited_for,
         a_program_error_surfaces_at_once, an_infrastructure_error_goes_to_another_node_once,
         retries_are_bounded, an_image_error_is_requeued_under_the_same_id,
         a_canceled_job_does_not_come_back, scancel_by_hand_does_not_start_another,
         the_time_limit_goes_on_from_a_checkpoint, a_preempted_job_goes_on_from_its_checkpoint,
         a_job_canceled_by_preemption_comes_back,
         one_who_watches_sees_one_job_from_begin_to_end, a_task_of_an_array_is_requeued_alone,
         a_killed_node_is_followed_by_a_new_run_without_a_client,
         a_node_lost_from_under_several_is_followed_by_a_new_run,
         a_node_that_is_gone_when_the_ranks_start_is_not_the_programs_fault]

if __name__ == "__main__":
    sys.exit(main(CASES, Client))
