# SPDX-License-Identifier: Apache-2.0
#
# try_jobs.py - jobs on a real cluster: what is submitted runs once, and what is reported about it is true.
#
#   tests/slurm/cluster --nodes 4 --set EnforcePartLimits=ANY --partition 'paid AllowAccounts=vision,language' -- \
#       python3 tests/slurm/try_jobs.py SLIPWAY [CASE...]
import json
import os
import re
import subprocess
import sys
import threading
import time

from cluster_client import BASE, SlurmClient, control, main, until

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../sim"))
import holding  # noqa: E402


def seen(client, job, status):
    """Until the job is so, for a client that looks again and again."""
    return until(lambda: (lambda s: s if s["status"] == status else None)(client.status(job)), f"{job} {status}")


def refused(client, *words, **more):
    done = client.call("run", "-d", client.job_file(*words, **more), check=False)
    assert done.returncode != 0, done.stdout
    return done.stderr


# ---- ranks

TALK = """import os, socket
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if os.environ["NODE_RANK"] == "0":
    server = socket.create_server(address)
    other, _ = server.accept()
    print("rank 0 heard", other.recv(100).decode(), os.environ["WORLD_SIZE"], os.environ["WORKER_ADDRS"])
else:
    for _ in range(100):
        try:
            socket.create_connection(address).sendall(("rank " + os.environ["NODE_RANK"]).encode())
            break
        except OSError:
            import time; time.sleep(0.1)
"""


def two_nodes_find_each_other(here):
    path = f"{BASE}/talk.py"
    with open(path, "w", encoding="utf-8") as file:
        file.write(TALK)
    job = here.submit(f"python3 {path}", nodes=2)
    seen(here, job, "Complete")
    assert "rank 0 heard rank 1 2 n" in here.log(job), here.log(job)


def frameworks_do_not_believe_that_slurm_started_them(here):
    job = here.submit("echo \"[$SLURM_NTASKS$SLURM_PROCID$SLURM_LOCALID$RANK] $SLURM_JOB_NAME $SLURM_NODEID\"",
                        nodes=2)
    seen(here, job, "Complete")
    assert "[] bash 0" in here.log(job), here.log(job)


# ---- things that break

def a_controller_that_restarts_changes_no_job(here):
    gate = here.gate()
    job = here.submit(f"echo up; {gate.wait}")
    until(lambda: "up" in here.log(job), "the command")      # Slurm says Running before srun has asked it
    seen(here, job, "Running")
    control("stop-controller")
    try:
        away = here.call("status", job, "-o", "json", check=False)
        assert "Running" in away.stdout, away.stdout + away.stderr
    finally:
        control("start-controller")
    gate.open()
    assert seen(here, job, "Complete")["exit_code"] == 0


def a_login_lost_after_sbatch_gives_one_job(here):
    control("fault", "lose-after")
    done = here.call("run", "-d", "--id", "lost-after", here.job_file("sleep 1"), check=False)
    assert done.returncode == 69, (done.returncode, done.stderr)
    here.call("run", "-d", "--id", "lost-after", here.job_file("sleep 1"))
    seen(here, "lost-after", "Complete")
    here.had_ids("lost-after", 1)


def a_login_lost_before_sbatch_gives_one_job_in_the_end(here):
    control("fault", "lose-before")
    here.call("run", "-d", "--id", "lost-before", here.job_file("sleep 1"), check=False)
    # Until it is known that nothing was started, the first submit counts; then the same id starts it.
    until(lambda: here.call("run", "-d", "--id", "lost-before", here.job_file("sleep 1"),
                                                       check=False).returncode == 0 and
          here.status("lost-before")["status"] == "Complete", "one job of that id", 180)
    here.had_ids("lost-before", 1)


def two_machines_that_submit_one_id_get_one_job(here):
    others = [SlurmClient(here.program) for _ in range(4)]
    threads = [threading.Thread(target=other.call, args=("run", "-d", "--id", "same-id",
                                                            other.job_file("sleep 1")),
                                kwargs={"check": False}) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen(others[0], "same-id", "Complete")
    here.had_ids("same-id", 1)
    for other in others:
        other.close()


def the_next_login_host_is_tried(here):
    control("cut", "login1")
    try:
        job = here.submit("echo here")
        seen(here, job, "Complete")
    finally:
        control("mend", "login1")


# ---- what Slurm does by itself

def a_cancel_by_hand_is_canceled(here):
    job = here.submit("sleep 300")
    seen(here, job, "Running")
    here.as_user("scancel", here.slurm_id(job))
    seen(here, job, "Canceled")


def a_pending_job_canceled_by_hand_is_canceled(here):
    job = here.submit("sleep 300", slurm={"begin": "now+1hour"})
    assert here.status(job)["status"] == "Pending" and "start" in here.status(job)["message"], here.status(job)
    here.as_user("scancel", here.slurm_id(job))
    seen(here, job, "Canceled")


def an_array_is_over_when_all_its_tasks_are(here):
    job = here.submit("echo \"task $SLURM_ARRAY_TASK_ID\"; [ $SLURM_ARRAY_TASK_ID != 2 ] || exit 3",
                        slurm={"array": "0-3"}, retry={"max": 0})
    told = seen(here, job, "Error")
    assert told["exit_code"] == 3, told
    assert "task 1\n" in here.call("logs", job, "--rank", "1").stdout


def an_array_can_be_canceled(here):
    job = here.submit("sleep 300", slurm={"array": "0-5%2"})
    seen(here, job, "Running")
    here.call("cancel", job)
    assert here.status(job)["status"] == "Canceled"
    assert not here.in_queue(job)


def a_dependency_is_waited_for(here):
    gate = here.gate()
    first = here.submit(gate.wait)
    second = here.submit("echo second", slurm={"dependency": f"afterok:{here.slurm_id(first)}"})
    told = here.status(second)
    assert told["status"] == "Pending" and told["reason"] == "dependency", told
    gate.open()
    seen(here, second, "Complete")
    assert here.status(first)["status"] == "Complete"


def a_dependency_that_fails_ends_the_job(here):
    gate = here.gate()
    first = here.submit(f"{gate.wait}; exit 3", retry={"max": 0})
    second = here.submit("echo second", slurm={"dependency": f"afterok:{first}"})
    until(lambda: first in here.status(second)["message"], "it waits")
    gate.open()
    told = seen(here, second, "Error")
    assert told["reason"] == "dependency-failed" and first in told["message"], told
    assert first in here.call("why", second).stdout


def a_failed_step_is_never_complete(here):
    # A batch script of another author that hides the failure of its step, as the Python SDK's does.
    job = here.submit("true", slurm={"begin": "now+1hour"})
    number = here.as_user("sbatch", "--parsable", "-J", f"tao-job-{job}", "--wrap", "srun false; exit 0", "-o",
                            "/dev/null").strip()
    here.as_user("scancel", here.slurm_id(job))
    with open(f"{BASE}/meta/{job}.1/job", "w", encoding="utf-8") as file:
        file.write(number + "\n")
    until(lambda: number not in here.as_user("squeue", "-h", "-o", "%A"), "its end")
    until(lambda: "FAILED" in here.as_user("sacct", "-n", "-j", number, "--format=State"), "accounting")
    assert seen(here, job, "Error")["exit_code"] == 1


def parts_of_a_heterogeneous_job_are_one_job(here):
    # Of another author, as above: ours have equal nodes. The second part waits for the first to let go.
    job = here.submit("true", slurm={"begin": "now+1hour"})
    here.as_user("scancel", here.slurm_id(job))
    name = ("-J", f"tao-job-{job}")
    gate = here.gate()
    number = here.as_user("sbatch", "--parsable", *name, "-n1", "-o", "/dev/null", "--wrap",
                          f"srun --het-group=0,1 sh -c '{gate.wait}'", ":", *name, "-n1").split(";")[0].strip()
    with open(f"{BASE}/meta/{job}.1/job", "w", encoding="utf-8") as file:
        file.write(number + "\n")
    until(lambda: len(here.as_user("squeue", "-h", "-t", "R", "-j", number, "-o", "%i").split()) == 2, "both parts")
    assert f"{number}+1" in here.as_user("squeue", "-h", "-j", number, "-o", "%i")
    assert here.status(job)["status"] == "Running", here.status(job)
    gate.open()
    assert seen(here, job, "Complete")["exit_code"] == 0


def accounting_that_is_away_changes_no_job(here):
    control("stop-accounting")
    try:
        ended = here.submit("exit 3", retry={"max": 0})
        killed = here.submit("sleep 300", retry={"max": 0})
        assert seen(here, ended, "Error")["exit_code"] == 3
        here.running_on(killed)
        kill_by_hand(here, killed)
        here.wait(killed)
        assert seen(here, killed, "Error")["exit_code"] is None           # the controller does not tell the code
    finally:
        control("start-accounting")


def set_memory_of_the_controller(seconds):
    with open("/etc/slurm/slurm.conf", encoding="utf-8") as file:
        text = re.sub(r"(?m)^MinJobAge=.*", f"MinJobAge={seconds}", file.read())
    with open("/etc/slurm/slurm.conf", "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["scontrol", "reconfigure"], check=True)


def what_the_controller_has_forgotten_is_in_the_accounting(here):
    set_memory_of_the_controller(2)
    try:
        job = here.submit("sleep 300", retry={"max": 0})
        here.running_on(job)
        kill_by_hand(here, job)                       # it leaves no word of its own
        until(lambda: here.slurm_id(job) not in
              here.as_user("squeue", "-h", "-t", "all", "-o", "%A").split(), "the controller to forget it", 120)
    finally:
        set_memory_of_the_controller(300)
    assert not here.has_ended(job)
    until(lambda: "Unknown" not in here.as_user("sacct", "-nX", "-j", here.slurm_id(job), "--format=End"), "accounting")
    told = here.status(job)
    assert (told["status"], told["reason"], told["signal"]) == ("Error", "signal", 9), told


def a_status_file_that_says_failure_is_believed(here):
    job = here.submit("echo '{\"status\": \"FAILURE\"}' > {results_dir}/status.json", retry={"max": 0})
    assert seen(here, job, "Error")["reason"] == "status"


# ---- refused before anything is queued

def what_cannot_run_is_refused_with_the_reason(here):
    long = refused(here, "true", time="2h", slurm={"partition": ["short"]})
    assert "short 10:00" in long and "limit" in long, long
    assert "4 hours" in refused(here, "true", time="5h", slurm={"partition": ["polar", "grizzly"]})
    gone = refused(here, "true", inputs={"/data": f"{BASE}/no-such-input"})
    assert "no-such-input" in gone, gone
    assert "does not see" in refused(here, "true", inputs={"/data": "file:///etc/passwd"})
    assert "does not see" in refused(here, "true", inputs={"/data": "here.json"})
    assert "nosuch" in refused(here, "true", slurm={"partition": ["nosuch"]})


# ---- secrets of a job that had no last word

DEAF = "trap '' TERM; while :; do sleep 1; done"         # only a KILL ends it, and the batch script with it


def cancel_by_hand(client, job):
    client.as_user("scancel", client.slurm_id(job))


def kill_by_hand(client, job):
    client.as_user("scancel", "--batch", "--signal=KILL", client.slurm_id(job))


def lose_its_node(client, job):
    node = client.running_on(job)
    control("lose-node", node)
    until(lambda: not client.in_queue(job), "the end")
    control("start-node", node)


ENDINGS = {"canceled-pending": ("sleep 300", {"begin": "now+1hour"}, cancel_by_hand, "Canceled"),
           "canceled": ("sleep 300", {}, cancel_by_hand, "Canceled"),
           "canceled-deaf": (DEAF, {}, cancel_by_hand, "Canceled"),
           "killed": (DEAF, {}, kill_by_hand, "Error"),
           "node-lost": (DEAF, {"requeue": False, "nodelist": ["n4"]}, lose_its_node, "Error"),
           "time-limit": (DEAF, {"use_timeout": False, "signal_ahead": "0s", "exclude": ["n4"]}, lambda client, job: None, "Error")}


def secrets_go_with_the_job_however_slurm_ended_it(here):
    here.env["T_TOKEN"] = "canary-of-the-endings"
    jobs = {}
    for name, (command, slurm, _, _) in ENDINGS.items():
        jobs[name] = here.submit(command, secrets=["T_TOKEN"], time="1m", retry={"max": 0}, slurm=slurm)
        assert os.stat(f"{BASE}/env/{jobs[name]}.secrets").st_mode & 0o777 == 0o600
    for name, (_, slurm, end, _) in ENDINGS.items():
        if "begin" not in slurm:
            here.running_on(jobs[name])
        end(here, jobs[name])
    for name, (_, _, _, status) in ENDINGS.items():
        here.wait(jobs[name])
        if name in ("killed", "node-lost"):
            assert os.path.exists(f"{BASE}/env/{jobs[name]}.secrets"), name      # there was no time to remove them
        told = seen(here, jobs[name], status)
        assert not os.path.exists(f"{BASE}/env/{jobs[name]}.secrets"), (name, told)


def secrets_of_an_array_go_with_its_last_task(here):
    here.env["T_TOKEN"] = "canary-of-the-endings"
    job = here.submit('[ -n "$T_TOKEN" ]', secrets=["T_TOKEN"], slurm={"array": "0-3%2"})
    assert seen(here, job, "Complete")["exit_code"] == 0
    assert not os.path.exists(f"{BASE}/env/{job}.secrets")


# ---- which account is charged (the partition `paid` takes these two, and neither is the user's default)

def account_of(client, job):
    return client.as_user("squeue", "-h", "-t", "all", "-j", client.slurm_id(job), "-o", "%a").strip()


def give_account(name):
    """As the cluster's administrator."""
    for words in (["account", name], ["user", "ann", f"account={name}"]):
        subprocess.run(["sacctmgr", "-i", "-Q", "add", *words], check=True, stdout=subprocess.DEVNULL)


def the_account_is_found_or_asked_for(here):
    paid = {"partition": ["paid"]}
    told = refused(here, "true", slurm=paid)
    assert "nvalid account" in told and "accounts of ann: research" in told, told
    give_account("vision")
    job = until(lambda: here.call(
        "run", "-d", here.job_file("true", slurm=paid), check=False).stdout.split(), "the controller to know the account")[0]
    assert account_of(here, job) == "vision", account_of(here, job)
    seen(here, job, "Complete")
    give_account("language")
    told = refused(here, "true", slurm=paid)
    assert "language,research,vision" in told and "slurm.account" in told, told
    until(lambda: here.call("run", "-d", "--id", "by-language", here.job_file(
        "true", slurm={**paid, "account": "language"}), check=False).returncode == 0, "the named account")
    assert account_of(here, "by-language") == "language"
    assert "nvalid account" in refused(here, "true", slurm={**paid, "account": "missing"})


WANTS_ACCOUNT = """function slurm_job_submit(job, partitions, uid)
    if job.account == nil then
        slurm.log_user("an account is required here")
        return slurm.ESLURM_INVALID_ACCOUNT
    end
    return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end
"""


def a_site_that_wants_an_account_named_gets_the_default(here):
    with open("/etc/slurm/job_submit.lua", "w", encoding="utf-8") as file:
        file.write(WANTS_ACCOUNT)
    with open("/etc/slurm/slurm.conf", encoding="utf-8") as file:
        before = file.read()
    with open("/etc/slurm/slurm.conf", "w", encoding="utf-8") as file:
        file.write(before + "JobSubmitPlugins=lua\n")
    control("restart-controller")
    try:
        assert "required" in here.as_user("sbatch", "--wrap", "true")
        job = here.submit("true")
        assert account_of(here, job) == "research"
        seen(here, job, "Complete")
    finally:
        with open("/etc/slurm/slurm.conf", "w", encoding="utf-8") as file:
            file.write(before)
        control("restart-controller")


def an_input_is_not_looked_for_when_told_so(here):
    job = here.submit("true", inputs={"/data/x": f"{BASE}/no-such-input"}, slurm={"check": False})
    assert seen(here, job, "Error")["exit_code"] == 74


# ---- beside a running job

def a_command_runs_beside_each_rank(here):
    job = here.submit("cd /tmp; sleep 300", nodes=2, gpus=2, env={"MINE": "a value; with 'signs'"})
    here.running_on(job)
    until(lambda: here.call("exec", job, "--rank", "1", "--", "sh", "-c", "echo $MINE").stdout.strip() and
          here.call("exec", job, "--", "sh", "-c", "echo $MINE").stdout.strip(), "both ranks")
    shown = 'echo "$NODE_RANK $SLURMD_NODENAME $MINE $PWD"; exit 75'
    nodes = here.as_user("scontrol", "show", "hostnames", here.running_on(job)).split()
    for rank in (0, 1):
        done = here.call("exec", job, "--rank", str(rank), "--", "sh", "-c", shown, check=False)
        assert done.stdout == f"{rank} {nodes[rank]} a value; with 'signs' /tmp\n", (done.stdout, done.stderr)
        assert (done.returncode, done.stderr) == (75, ""), done
    assert here.call("exec", job, "--rank", "2", "--", "true", check=False).returncode == 66
    fed = subprocess.run([here.program, "exec", job, "--", "sh", "-c", "wc -c; echo loud >&2"], text=True, env=here.env,
                         input="x" * 300000, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    assert (fed.stdout.strip(), fed.stderr) == ("300000", "loud\n"), fed
    assert here.status(job)["status"] == "Running"
    here.call("cancel", job)


def what_was_said_since_is_reported(here):
    job = here.submit("echo early; while [ ! -e {results_dir}/go ]; do sleep 0.2; done; echo late; sleep 300")
    here.running_on(job)
    times = f"{BASE}/meta/{job}.1/times"
    until(lambda: os.path.exists(times) and os.path.getsize(times), "the first time")
    after = os.path.getmtime(times)
    until(lambda: time.time() > after + 2, "a later second")
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with open(f"{BASE}/results/{job}/go", "w", encoding="utf-8"):
        pass
    until(lambda: "late" in here.log(job), "the late word")
    assert here.call("logs", job, "--since", since).stdout == "late\n", here.call("logs", job, "--since", since).stdout
    assert here.call("logs", job, "--since", "1h").stdout == "early\nlate\n"
    here.call("cancel", job)


# ---- what a submit costs

def round_trips(client, *words):
    """What one slipway needs: one of them is the hello of its shell."""
    counters = os.path.join(client.folder, "counters")
    client.env["SLIPWAY_SSH_COUNTERS"] = counters
    done = client.call(*words)
    del client.env["SLIPWAY_SSH_COUNTERS"]
    with open(counters, encoding="utf-8") as file:
        trips = sum(json.loads(line)["round_trips"] for line in file.read().splitlines())
    os.unlink(counters)
    return done, trips


def certificates_that_were_named_are_sent_once(here):
    mine = os.path.join(here.folder, "mine.pem")
    with open(mine, "w", encoding="utf-8") as file:
        file.write("-----BEGIN CERTIFICATE-----\nTUlORQ==\n-----END CERTIFICATE-----\n")
    here.submit("true")                                          # the runner is there
    here.env["SSL_CERT_FILE"] = mine
    path = here.job_file("true")
    first, with_them = round_trips(here, "run", "-d", path)
    second, without = round_trips(here, "run", "-d", path)
    del here.env["SSL_CERT_FILE"]
    assert (with_them, without) == (4, 3), (with_them, without)       # hello, which cluster, and the submit
    names = set()
    for done in (first, second):
        with open(f"{BASE}/entrypoints/job_{done.stdout.split()[0]}.json", encoding="utf-8") as file:
            names.add(json.load(file)["ca"])
    assert len(names) == 1, names
    with open(mine, encoding="utf-8") as ours, open(f"{BASE}/entrypoints/{names.pop()}", encoding="utf-8") as theirs:
        assert ours.read() == theirs.read()


# ---- before the submit

# What is wrong, and the words that both say; a preflight says all of them, a run the first.
BAD_JOBS = [
    ({"gpus": "H100:2"}, ["GPUs of its nodes: gpu:8"]),
    ({"memory": "900GiB"}, ["not available"]),
    ({"slurm": {"partition": ["nosuch"]}}, ["nosuch"]),
    ({"slurm": {"qos": "nosuch"}}, ["nvalid qos"]),
    ({"time": "2h", "slurm": {"partition": ["short"]}}, ["10:00"]),
    ({"image": f"{BASE}/no-such.sqsh", "inputs": {"/data": f"{BASE}/no-such-input"},
      "outputs": {"/results": {"to": "/proc/no/such"}}}, ["no-such.sqsh", "no-such-input", "/proc/no/such"]),
    ({"image": "ubuntu:24.04", "mounts": [f"{BASE}/no-such-mount:/x"]}, ["no-such-mount"]),
    ({"secrets": ["NOT_SET_HERE"]}, ["NOT_SET_HERE"]),
]


def preflight_refuses_what_run_refuses(here):
    others = here.as_user("squeue", "-h", "-o", "%i").split()        # of earlier claims
    for wanted, words in BAD_JOBS:
        path = here.job_file("true", **wanted)
        said = here.call("preflight", path, check=False)
        assert said.returncode == 1 and all(word in said.stdout for word in words), (wanted, said.stdout, said.stderr)
        run = here.call("run", "-d", path, check=False)
        assert run.returncode not in (0, 69) and words[0] in run.stderr, (wanted, run.returncode, run.stderr)
    assert set(here.as_user("squeue", "-h", "-o", "%i").split()) <= set(others), here.as_user("squeue")


def preflight_refuses_what_slurm_would_queue_for_ever(here):
    for wanted in ({"nodes": 9}, {"cpus": 5000}):
        said = here.call("preflight", here.job_file("true", **wanted), check=False)
        assert said.returncode == 1 and "Slurm rejected the job" in said.stdout, (wanted, said.stdout)


def preflight_passes_what_runs(here):
    for wanted in ({"gpus": 2, "memory": "1GiB"},
                 {"time": "2h", "slurm": {"partition": ["short", "batch"]},
                  "outputs": {"/results": {"to": f"{BASE}/new/folder"}}}):
        said = here.call("preflight", here.job_file("true", **wanted), check=False)
        assert said.returncode == 0, (wanted, said.stdout, said.stderr)


def preflight_looks_at_paths_on_a_compute_node_and_at_the_clock(here):
    job = here.job_file("true", inputs={"/data": BASE}, outputs={"/results": {"to": f"{BASE}/new/other"}})
    rows = {row["check"]: row for row in json.loads(here.call("preflight", job, "-o", "json").stdout)["checks"]}
    assert rows["clock"]["state"] == "ok", rows["clock"]
    assert rows["paths on a node"]["state"] == "ok" or rows["shared folder"]["state"] == "not checked", rows
    assert rows["credentials"]["state"] in ("ok", "not set up"), rows
    return rows["shared folder"]["message"]


# ---- other clients

def a_job_is_adopted_by_its_id_alone(here):
    gate = here.gate()
    job = here.submit(f"{gate.wait}; exit 3", retry={"max": 0})
    other = SlurmClient(here.program)
    there = {row["id"]: row for row in json.loads(other.call("adopt", "--list", "-p", "slurm", "-o", "json").stdout)["jobs"]}
    assert there[job]["status"] in ("Pending", "Running") and there[job]["owner"] == "ann" and there[job]["created_at"], there
    gate.open()
    other.call("adopt", job, "-p", "slurm")
    assert job not in other.call("adopt", "--list", "-p", "slurm").stdout
    assert seen(other, job, "Error")["exit_code"] == 3
    other.close()


def five_hundred_jobs_are_refreshed_in_one_call(here):
    count = int(os.environ.get("SLIPWAY_MANY", "500"))
    path = here.job_file("true", slurm={"begin": "now+1hour"})
    batches = [range(start, count, 4) for start in range(4)]

    def submit(numbers):
        for number in numbers:
            here.call("run", "-d", "--id", f"many-{number}", path)

    threads = [threading.Thread(target=submit, args=(numbers,)) for numbers in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done, trips = round_trips(here, "ps", "-o", "json", "--limit", str(count))
    told = json.loads(done.stdout)
    assert len([job for job in told["jobs"] if job["status"] == "Pending"]) == count, len(told["jobs"])
    assert trips == 2, trips                                                # hello, and one question
    here.as_user("scancel", "-u", "ann")


def status_tells_what_arrives_and_what_was_brought(here):
    def phase():
        return (here.status(job).get("runner") or {}).get("phase")

    gate = here.gate()
    with holding.Server() as server:
        job = here.submit(f"wc -c </in/big; {gate.wait}", inputs={"/in/big": server.uri})
        until(lambda: phase() == "prepare", "a heartbeat")
        assert "fetching inputs" in here.call("status", job).stdout, here.call("status", job).stdout
        server.release()
        until(lambda: phase() == "running", "the command")
        gate.open()
        here.wait(job)
    told = seen(here, job, "Complete")["runner"]
    assert (told["exit_code"], told["in"]) == (0, {"files": 1, "bytes": holding.SIZE}), told
    assert "1 file in, 97.6 KiB" in here.call("status", job).stdout


if __name__ == "__main__":
    sys.exit(main(globals()))
