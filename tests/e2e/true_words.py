# SPDX-License-Identifier: Apache-2.0
"""true_words.py - what the command line says and does at its edges: signals, selectors that match
nothing or too much, flags given twice.

usage: true_words.py SLIPWAY [TEST...]
"""
import http.server
import json
import os
import pathlib
import signal
import socketserver
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
import command_line as base  # noqa: E402


class Fixture(base.Fixture):
    def ids(self, *args):
        return sorted(self.ends(0, "ps", "-a", "-o", "name", *args).stdout.decode().split())

    def say(self, status, *args, **more):
        return self.ends(status, *args, **more).stderr.decode()


class Trickle(http.server.BaseHTTPRequestHandler):
    """A file that never comes to its end."""
    begun = threading.Event()

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()

    def do_GET(self):
        self.do_HEAD()
        Trickle.begun.set()
        try:
            while True:
                self.wfile.write(b"x")
                time.sleep(0.05)
        except OSError:
            pass


class Signals(Fixture):
    VERBS = (["logs", "-f", "last"], ["watch", "last"], ["events", "-f", "last"], ["wait", "last"])

    def begun(self, *args, stream="stdout", **more):
        """A verb that is under way: its first output has come."""
        process = self.start(*args, **more)
        if stream:
            self.assertTrue(getattr(process, stream).readline())
        return process

    def until_caught(self, process, number):
        """Its handler is set: /proc tells."""
        end = time.monotonic() + base.DEADLINE
        while True:
            for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
                if line.startswith("SigCgt:") and int(line.split()[1], 16) >> (number - 1) & 1:
                    return
            self.assertLess(time.monotonic(), end, "the signal is never caught")
            time.sleep(0.02)

    def test_every_verb_that_stays_ends_by_the_signal_after_its_words(self):
        job = self.detach("echo up; sleep 60")
        self.until_state(job, "Running")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for verb in self.VERBS:
                with self.subTest(verb=verb, signal=number):
                    process = self.start(*verb)
                    self.until_caught(process, number)
                    process.send_signal(number)
                    said = process.communicate(timeout=base.DEADLINE)[1].decode()
                    self.assertEqual(process.returncode, -number, said)
                    self.assertRegex(said, r"detached: the jobs? continues?\n$")
        self.assertEqual(self.state_of(job), "Running")

    def test_a_loop_of_a_shell_stops_at_ctrl_c(self):
        verbs = ('run -- sh -c "echo up; sleep 60"', "logs -f last", "watch", "wait last", "events -f last", "top")
        for verb in verbs:
            with self.subTest(verb=verb):
                screen = base.Terminal(["/bin/bash", "-c",
                                        f'for i in 1 2 3; do {base.SLIPWAY} {verb}; done; echo LOOP DONE'],
                                       self.env, self.work)
                if verb == "wait last":
                    time.sleep(1)              # it shows nothing
                else:
                    screen.until("STATE" if verb == "top" else "submitted" if "events" in verb else
                                 "Running" if verb == "watch" else "up")
                screen.type("\x03")
                self.assertEqual(screen.end(), -signal.SIGINT, screen.shown)
                self.assertNotIn(b"LOOP DONE", screen.shown)
        self.assertEqual(len(self.ids()), 1)

    def test_a_signal_ignored_at_the_start_stays_ignored(self):
        process = subprocess.Popen(["bash", "-c", 'trap "" INT HUP; exec "$0" run -- sh -c "echo up; sleep 3; exit 7"',
                                    base.SLIPWAY], env=self.env, cwd=self.work, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=base.DEADLINE)
        self.assertEqual(process.returncode, 7)

    def test_a_copy_is_ended_by_the_signal(self):
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Trickle) as server:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            copy = self.start("cp", f"http://127.0.0.1:{server.server_address[1]}/big", "there")
            self.assertTrue(Trickle.begun.wait(base.DEADLINE))
            self.until_caught(copy, signal.SIGINT)
            copy.send_signal(signal.SIGINT)
            said = copy.communicate(timeout=base.DEADLINE)[1].decode()
            server.shutdown()
        self.assertEqual(copy.returncode, -signal.SIGINT, said)
        self.assertIn("the same command continues the copy", said)

    def test_watch_leaves_its_table_once_at_ctrl_c(self):
        self.rehearse('log "' + "long words " * 20 + '", running')
        screen = self.terminal("watch", NO_COLOR="1")
        screen.until("long words")
        screen.type("\x03")
        self.assertEqual(screen.end(), -signal.SIGINT)
        after = screen.shown[screen.shown.rindex(b"^C"):]
        self.assertNotIn(b"LAST LINE", after)

    def test_the_exit_code_page_knows_both_meanings_of_130(self):
        page = self.ends(0, "help", "exit-codes").stdout.decode()
        self.assertRegex(page, r"(?s)130 when it was canceled.*Ctrl-C, TERM and HUP.*130, 143 and 129")


class Selectors(Fixture):
    def sweep(self):
        for number in "123":
            self.ends(0, "run", "-q", "--label", "sweep=a", "--label", f"i={number}", "--", "true")

    def test_several_labels_mean_jobs_that_have_all(self):
        self.sweep()
        self.assertEqual(len(self.ids("-l", "sweep=a")), 3)
        for flags in (["-l", "sweep=a", "-l", "i=2"], ["-l", "i=2", "-l", "sweep=a"], ["-l", "i", "-l", "i=2"]):
            self.assertEqual(len(self.ids(*flags)), 1, flags)
            self.assertEqual(json.loads(self.ends(0, "ps", "-o", "json", *flags).stdout)["total"], 1)
            self.assertEqual(len(self.ends(0, "status", "-o", "name", *flags).stdout.split()), 1)
        self.ends(0, "rm", "-y", "-l", "i=2", "-l", "sweep=a")
        self.assertEqual(len(self.ids()), 2)

    def test_a_flag_with_one_value_is_refused_when_given_twice(self):
        for args in (["ps", "--state", "error", "--state", "complete"], ["ps", "-n1", "--limit=2"],
                     ["--profile", "a", "ps", "--profile", "b"], ["run", "--name", "a", "--name", "b", "--", "true"], ["logs", "-n", "1", "--tail", "2", "last"]):
            self.assertIn("given twice", self.say(64, *args))
        self.ends(0, "run", "-q", "-q", "--env", "A=1", "--env", "B=2", "--set", "gpus=0", "--set", "nodes=1", "--", "true")

    def test_an_empty_text_is_no_job_for_any_verb(self):
        self.ends(0, "run", "-q", "--", "true")
        for verb in ("status", "why", "logs", "events", "wait", "watch", "cancel", "retry", "results", "get", "rm",
                     "ps", "replicas", "report"):
            self.assertIn("empty string", self.say(64, verb, ""), verb)
        self.ends(64, "exec", "", "--", "true")
        for label in ("", "=x"):
            self.ends(64, "ps", "-l", label)
            self.ends(64, "rm", "-y", "-l", label)
        self.assertEqual(len(self.ids()), 1)

    def test_a_state_asks_the_platforms_first(self):
        job = self.detach("sleep 60")
        end = time.monotonic() + base.DEADLINE
        while job not in (said := self.say(0, "cancel", "-y", "running")):
            self.assertLess(time.monotonic(), end, said)
        self.assertEqual(self.state_of(job), "Canceled")
        job = self.detach("exit 3")
        while job not in self.ends(0, "status", "failed", "-o", "name").stdout.decode():
            self.assertLess(time.monotonic(), end)

    def test_words_for_many_that_match_none_say_so_and_end_well(self):
        self.sweep()
        for verb in (["wait", "active"], ["cancel", "-y", "active"], ["why", "failed"], ["retry", "failed"],
                     ["status", "failed"], ["rm", "failed"], ["ps", "failed"], ["ps", "-l", "nope=1"],
                     ["ps", "--state", "error"], ["ps", "-p", "docker"], ["watch", "running"], ["wait", "-l", "nope"],
                     ["get", "failed"], ["logs", "-f", "failed"]):
            self.assertRegex(self.say(0, *verb), r"^no job matches .*; 3 in all\n$", verb)
        self.assertEqual(json.loads(self.ends(0, "why", "failed", "-o", "json").stdout), {"version": 1, "jobs": []})
        for verb in ("wait", "cancel", "why", "ps", "status", "retry", "rm", "watch", "get", "logs"):
            self.ends(66, verb, "missing")
        self.ends(66, "ps", "-p", "bogus")

    def test_ps_takes_selectors_and_a_limit_of_none(self):
        self.assertIn("starts one", self.say(0, "ps"))
        for name in ("one", "two", "two"):
            self.ends(0, "run", "-q", "--name", name, "--", "true")
        self.assertEqual(len(self.ids("two")), 2)
        self.assertEqual(len(self.ids("tw")), 2)
        self.assertEqual(len(self.ids("last")), 1)
        self.assertEqual(len(self.ids("complete", "--state", "complete", "-n", "2", "one", "two")), 3)
        none = json.loads(self.ends(0, "ps", "-n", "0", "-o", "json").stdout)
        self.assertEqual((none["jobs"], none["total"]), ([], 3))
        self.assertEqual(self.ends(0, "ps", "-n", "0").stdout, b"")

    def test_words_of_selectors_are_no_names(self):
        for name in ("last", "last-3", "all", "failed", "running"):
            self.assertIn("selects jobs", self.say(65, "run", "--name", name, "--", "true"), name)
        (self.work / "job.yaml").write_text("command: 'true'\nname: active\n")
        self.assertIn("job.yaml:2", self.say(65, "run"))
        self.ends(0, "run", "-q", "--name", "last-one", "--", "true")


class Many(Fixture):
    def test_retry_asks_before_it_runs_many_or_a_complete_one_again(self):
        done = self.rehearse("exit 0")
        failed = [self.rehearse("exit 3") for _ in range(2)]
        self.ends(3, "wait", "all")
        for args, question in (([done], "is Complete; run it again and overwrite its results? [y/N]"),
                               (["failed"], "retry 2 jobs? [y/N]")):
            screen = self.terminal("retry", *args)
            screen.until(question)
            screen.type("n\n")
            self.assertEqual(screen.end(), 0)
            self.assertIn(b"nothing was retried", screen.shown)
        self.assertEqual(json.loads(self.ends(0, "status", done, "-o", "json").stdout)["attempt"], 1)
        screen = self.terminal("retry", failed[0])
        self.assertEqual(screen.end(), 0)
        self.assertIn(b"attempt 2", screen.shown)
        screen = self.terminal("retry", "-y", done)
        self.assertEqual(screen.end(), 0)
        self.assertIn(b"attempt 2", screen.shown)

    def test_a_retry_that_cannot_be_sent_changes_nothing(self):
        self.env["HF_TOKEN"] = "abcdefgh"
        self.ends(0, "run", "-q", "--secret", "HF_TOKEN", "--", "true")
        del self.env["HF_TOKEN"]
        self.assertIn("HF_TOKEN", self.say(77, "retry", "last"))
        one = json.loads(self.ends(0, "status", "last", "-o", "json").stdout)
        self.assertEqual((one["status"], one["attempt"]), ("Complete", 1))

    def test_rm_without_a_terminal_needs_a_yes_for_words_that_mean_many(self):
        for _ in range(3):
            self.ends(0, "run", "-q", "--label", "a=b", "--", "true")
        for args in (["all"], ["complete"], ["-l", "a=b"]):
            self.assertIn("-y", self.say(64, "rm", *args))
        self.assertEqual(len(self.ids()), 3)
        self.ends(0, "rm", *self.ids()[:2])
        self.ends(0, "rm", "-y", "all")
        self.assertEqual(self.ids(), [])
        self.assertIn("-y is required", " ".join(self.ends(0, "help", "rm").stdout.decode().split()))

    def test_cancel_is_quiet_about_jobs_that_were_over(self):
        over = [self.rehearse("exit 0"), self.rehearse("exit 3")]
        self.ends(3, "wait", *over)
        self.assertEqual(self.say(0, "cancel", "all"), "nothing to cancel: all these jobs have finished\n")
        runs = self.rehearse("running")
        self.assertEqual(self.say(0, "cancel", "all"), f"{runs}  canceled\n")
        self.assertEqual(self.say(0, "cancel", runs), f"{runs}  has already finished: Canceled\n")

    def test_get_tells_nothing_from_nothing_new(self):
        self.ends(0, "run", "-q", "--", "true")
        done = self.ends(0, "get", "last")
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"no results", done.stderr)
        self.ends(0, "run", "-q", "--", "sh", "-c", 'echo 42 > "$SLIPWAY_RESULTS_DIR/answer"')
        self.assertIn("1 file copied", self.say(0, "get", "last", "here"))
        done = self.ends(0, "get", "last", "here")
        self.assertIn(b"up to date", done.stderr)
        self.assertTrue(pathlib.Path(self.work, done.stdout.decode().strip()).is_dir())


class Places(Fixture):
    def test_an_error_begins_with_where_its_cause_was_written(self):
        (self.work / "w.yaml").write_text("command: 'true'\nworkdir: /nope/dir\n")
        (self.work / "i.yaml").write_text("command: 'true'\ninputs:\n  /data: /nope/data\n")
        for args, begins in ((["-f", "w.yaml"], "w.yaml:2:1: workdir '/nope/dir'"),
                             (["-f", "i.yaml"], "i.yaml:3:3: '/nope/data'"),
                             (["--mount", "/nope:/x", "--", "true"], "--mount: '/nope'"),
                             (["--workdir", "/nope", "--", "true"], "--workdir: workdir '/nope'"),
                             (["--set", "slurm.partion=x", "--", "true"], "--set slurm.partion: unknown key"),
                             (["--set", "retry.max=x", "--", "true"], "--set retry.max: expected")):
            self.assertIn(f"slipway: {begins}", self.say(65, "run", *args))
        said = self.ends(0, "plan", "--set", "retry.on=node", "--set", "cache=/tmp", "--", "true").stdout.decode()
        self.assertRegex(said, r"(?m)^retry.on +flag --set retry.on ")
        self.assertRegex(said, r"(?m)^cache +flag --set cache ")

    def test_a_hint_is_a_command_that_works(self):
        self.assertIn("slipway exec last -- echo ...", self.say(64, "exec", "last", "echo", "hi"))
        self.assertNotIn("-- a.yaml", self.say(64, "run", "a.yaml", "b.yaml"))
        self.assertIn("slipway run -- python ...", self.say(64, "run", "python", "train.py"))

    def test_a_plan_warns_once_and_shows_no_credential(self):
        (self.work / "job.yaml").write_text("command: 'true'\nenv: {OPENAI_API_KEY: sk-canary-value, SORT_KEY: name}\n")
        for more in ([], ["-o", "json"]):
            done = self.ends(0, "plan", *more)
            self.assertEqual(done.stderr.decode().count("OPENAI_API_KEY looks like a credential"), 1)
            self.assertNotIn(b"sk-canary-value", done.stdout + done.stderr)
            self.assertIn(b"[redacted]", done.stdout)

    def test_help_is_whole(self):
        self.assertNotIn("\nFlags:", self.ends(0, "help", "help").stdout.decode())
        page = self.ends(0, "help", "environment").stdout.decode()
        for name in ("SLIPWAY_PLATFORM", "SLIPWAY_LIBEXEC_DIR", "SLIPWAY_GPU_LEASE_DIR", "SLIPWAY_STATE_DIR"):
            self.assertIn(name, page)
        parts = self.ends(0, "help").stdout.decode().split("\n\n")[2:-1]
        self.assertEqual([part.splitlines()[0] for part in parts], ["Run:", "Watch:", "Act:", "Data:", "Set up:"])
        listed = [line for part in parts for line in part.splitlines()[1:]]
        self.assertEqual({len(line) - len(line[2:].split(" ", 1)[1].lstrip()) for line in listed}, {14})
        self.assertEqual(len(listed), len(json.loads(self.ends(0, "help", "--json").stdout)["commands"]))

    def test_help_knows_the_keys_of_a_job_file(self):
        page = self.ends(0, "help", "job").stdout.decode()
        for key in json.loads(self.ends(0, "schema").stdout)["properties"]:
            self.assertRegex(page, rf"(?m)^  {key}\b")
        self.assertLessEqual(max(map(len, page.splitlines())), 80)
        self.assertIn("Values: none, torchrun", self.ends(0, "help", "job", "launcher").stdout.decode())
        self.assertIn("Default: none", self.ends(0, "help", "job", "launcher").stdout.decode())
        self.assertIn("avoid_bad_nodes", self.ends(0, "help", "job", "retry").stdout.decode())
        self.assertIn("slurm.partition:", self.ends(0, "help", "job", "slurm.partition").stdout.decode())
        self.assertIn("from", self.ends(0, "help", "job", "inputs").stdout.decode())
        self.assertIn("did you mean 'slipway help job retry.max'?", self.say(64, "help", "job", "retry.mx"))
        self.assertIn("'slipway help job' lists the keys", self.say(64, "help", "job", "qqqqqqqq"))
        self.assertIn("unexpected argument", self.say(64, "help", "run", "gpus"))

    def test_words_of_other_tools_lead_to_ours(self):
        for word, ours in (("submit", "run"), ("kill", "cancel"), ("queue", "ps"), ("ssh", "exec"), ("launch", "run"), ("delete", "rm")):
            self.assertIn(f"did you mean 'slipway {ours}'?", self.say(64, word))

    def test_without_a_job_the_newest_is_meant(self):
        old, job = self.rehearse("exit 0"), self.rehearse("running 0s, exit 0")
        self.ends(0, "wait", old, job)
        for verb in ("status", "why"):
            self.assertIn(job, self.ends(0, verb).stdout.decode())
        self.ends(0, "logs")


class Words(Fixture):
    """Texts that once read as translated: what is said now."""

    def test_an_error_says_what_is_wrong_in_plain_words(self):
        self.env.pop("FOO", None)
        for name, text in (("two.yaml", "command: 'true'\n---\nnodes: 1\n"), ("tab.yaml", "\tcommand: 'true'\n"),
                           ("bool.yaml", "command: true\n"), ("env.yaml", "command: 'true'\nenv: text\n"),
                           ("twice.yaml", "nodes: 1\nnodes: 2\n"), ("value.toml", "command =\n")):
            (self.work / name).write_text(text)
        for status, args, said in (
                (65, ["plan", "two.yaml"], "two.yaml:2:1: only one YAML document per file"),
                (65, ["plan", "tab.yaml"], "tab.yaml:1:1: tab in indentation: YAML requires spaces"),
                (65, ["plan", "bool.yaml"], "command: expected a string, found true or false (quote it if you mean a string)"),
                (65, ["plan", "env.yaml"], "env: expected a mapping of strings, found a string"),
                (65, ["plan", "twice.yaml"], "twice.yaml:2:1: duplicate key 'nodes' (first on line 1)"),
                (65, ["plan", "value.toml"], "value expected"),
                (64, ["plan", "train.py"], "'train.py': unknown file type '.py'\n  hint: did you mean: slipway run -- python train.py ?"),
                (64, ["plan", "a.yaml", "b"], "unexpected argument 'b'"),
                (64, ["plan", "--env", "FOO", "--", "true"], "--env FOO: FOO is not set in your environment"),
                (64, ["ps", "-n", "-1"], "not a non-negative integer"),
                (65, ["plan", "-p", "slurm", "--", "true"], "no login host is configured"),
                (64, ["adopt", "x"], "where does 'x' run?")):
            self.assertIn(said, self.say(status, *args), args)
        self.assertRegex(self.say(65, "plan", "bool.yaml"), "hint: 'slipway help job command' explains the key")

    def test_nothing_points_to_a_schema_where_a_page_would_help(self):
        (self.work / "job.yaml").write_text("command: 'true'\nnods: 2\ngpus: -1\n")
        said = self.say(65, "run")
        self.assertIn("slipway help job", said)
        self.assertNotIn("schema", said)

    def test_what_is_counted_agrees_with_its_number(self):
        self.assertNotRegex(self.say(0, "run", "--", "sh", "-c", 'echo a > "$SLIPWAY_RESULTS_DIR/a"'), r"\b1 \w+s\b")
        self.assertIn("1 file copied", self.say(0, "get", "last", "here"))
        for number in (1, 2):
            job = self.rehearse("exit 3; " * number + "exit 3", "--set", f"retry.max={number}", "--set", "retry.wait=0s",
                                "--set", "retry.on=unknown")
            end = time.monotonic() + base.DEADLINE
            while f"no retries left ({number} of {number} used)" not in self.ends(0, "why", job).stdout.decode():
                self.assertLess(time.monotonic(), end)
                self.ends(0, "watcher", "once")
            self.assertRegex(self.ends(0, "status", job).stdout.decode(), rf"(?m)^  attempt +{number + 1}$")

    def test_a_failure_of_the_program_is_named_so(self):
        (self.work / "train.py").write_text('raise ValueError("shape mismatch: (32, 10) vs (32, 100)")\n')
        said = self.say(1, "run", "--", sys.executable, "train.py")
        self.assertRegex(said, r"(?m)^  message  ValueError: shape mismatch: .*; rank 0, exit code 1\n  cause    your program$")
        card = self.ends(0, "why").stdout.decode()
        self.assertRegex(card, r"(?m)^  cause +your program$")
        self.assertRegex(card, r"(?m)^  retry +not retried: the program itself failed$")
        self.assertRegex(self.ends(0, "status").stdout.decode(), r"(?m)^  cause +your program$")
        self.assertEqual(json.loads(self.ends(0, "why", "-o", "json").stdout)["cause"], "user")

    def test_ends_by_signals_and_silence_say_from_where(self):
        self.assertIn("ended by SIGTERM from outside Slipway", self.say(143, "run", "--", "sh", "-c", "kill -TERM $$"))
        self.assertIn("killed (SIGKILL) by something other than Slipway", self.say(137, "run", "--", "sh", "-c", "kill -KILL $$"))
        self.assertIn("the job wrote nothing to its log", self.say(3, "run", "--", "sh", "-c", "exit 3"))
        self.assertIn("unrecognised failure", self.say(3, "run", "--", "sh", "-c", "echo so; exit 3"))
        self.assertIn("permission denied on a file", self.say(
            1, "run", "--", "sh", "-c", "echo \"PermissionError: [Errno 13] Permission denied: '/x'\"; exit 1"))
        stops = ["--set", "guard.no_output=1s", "--set", "guard.action=stop"]
        self.assertIn("stopped by guard: no output for 1s", self.say(124, "run", *stops, "--", "sleep", "60"))

    def test_a_card_says_what_goes_on(self):
        quiet = self.ends(0, "run", "-q", "-d", "--set", "guard.no_output=1s", "--", "sleep", "60").stdout.decode().strip()
        end = time.monotonic() + base.DEADLINE
        while "Running, but no output for 1s (guard)" not in self.ends(0, "why", quiet).stdout.decode():
            self.assertLess(time.monotonic(), end)
        card = self.ends(0, "status", quiet).stdout.decode()
        for line in (r"running for +\d", r"platform id +\d", r"checked +\d+s ago"):
            self.assertRegex(card, rf"(?m)^  {line}")
        self.ends(0, "cancel", quiet)
        self.assertEqual(self.ends(0, "why", quiet).stdout.decode(), f"{quiet}  Canceled by you\n")
        waits = self.rehearse("pending 1h")
        self.assertRegex(self.ends(0, "why", waits).stdout.decode(), r"Pending: queued \(for \d+s\): waiting \(scripted\)")
        done = self.rehearse("exit 0")
        self.ends(0, "wait", done)
        self.assertEqual(self.ends(0, "why", done).stdout.decode(), f"{done}  Complete (exit code 0)\n")
        self.assertIn("'all' matches 3 jobs; this command takes one", self.say(64, "events", "all"))

    def test_a_dry_run_and_a_failed_submit_say_what_is_left(self):
        self.assertEqual(self.say(0, "run", "--dry-run", "--", "true"), "dry run: nothing was submitted\n")
        self.assertEqual(self.ids(), [])
        said = self.say(76, "run", "--id", "too-big", "--gpus", "1000", "--", "true")
        self.assertRegex(said, r"the job needs 1000 GPUs; this machine has (none|\d+)")
        self.env["SLIPWAY_REHEARSAL_API"] = "down"
        said = self.say(69, "run", "-p", "rehearsal", "--id", "kept", "--", "true")
        self.assertIn("recorded as kept; see 'slipway status kept'", said)

    def test_credentials_in_a_url_are_refused_and_help_names_every_status(self):
        for status, args, said in (
                (64, ["ls", "s3://key:secret-word@bucket/x"], "do not put credentials in a URL: s3:// takes no user or password"),
                (0, ["report", "-O", "r.tar"], "secrets are redacted; review it before sharing"),
                (65, ["plan", "--image", "a b", "-p", "docker", "--", "true"], "image 'a b': a name has lower-case letters"),
                (64, ["logs", "last", "--rank", "x"], "--rank: 'x' is not a non-negative integer"),
                (65, ["plan", "-p", "slurm", "--set", "slurm.hostname=x", "--", "true"],
                 "no folder on the cluster is configured for the files of jobs")):
            text = self.say(status, *args)
            self.assertIn(said, text)
            self.assertNotIn("secret-word", text)
        page = self.ends(0, "help", "exit-codes").stdout.decode()
        for line in ("70  internal       a bug in slipway", "76  refused        the platform rejected the request",
                     "141 means that the reader of the output closed it"):
            self.assertIn(line, page)

    def test_a_cancel_between_two_attempts_says_which_one_never_began(self):
        for platform in (["-p", "rehearsal", "--set", "rehearsal.script=exit 3"], ["-p", "local"]):
            job = self.ends(0, "run", "-q", "-d", *platform, "--set", "retry.max=2", "--set", "retry.wait=1h", "--set",
                            "retry.on=unknown", "--", "sh", "-c", "exit 3").stdout.decode().strip()
            end = time.monotonic() + base.DEADLINE
            while "retry 1 of 2" not in self.ends(0, "ps").stdout.decode():
                self.assertLess(time.monotonic(), end)
                self.ends(0, "watcher", "once")
            self.ends(0, "cancel", job)
            self.assertEqual(self.ends(0, "why", job).stdout.decode(), f"{job}  Canceled by you while waiting for attempt 2\n")
            self.assertIn("canceled while waiting for attempt 2", self.ends(0, "status", job).stdout.decode())
            self.ends(0, "rm", job)

    def test_help_is_imperative_and_shows_and_explains(self):
        page = self.ends(0, "help").stdout.decode()
        for line in ("show everything known about jobs", "explain why a job failed or is waiting, and what to do",
                     "wait for jobs to finish", "watch jobs until they finish", "import jobs submitted from elsewhere",
                     "copy data between any two places", "until their results are back"):
            self.assertIn(line, page)
        self.assertIn("report progress this often", " ".join(self.ends(0, "help", "run").stdout.decode().split()))


class Waiting(Fixture):
    def events(self, job):
        return self.ends(0, "events", job).stdout.decode().splitlines()

    def test_a_countdown_is_shown_and_is_no_news(self):
        job = self.rehearse("pending 1h, exit 0")
        run = self.start("logs", "-f", job)
        self.assertIn(b"  waiting (scripted); expected to start in ", run.stderr.readline())
        before = self.events(job)
        for _ in range(4):
            self.assertIn("expected to start in 59m", self.ends(0, "ps").stdout.decode())
            time.sleep(0.6)
        one = json.loads(self.ends(0, "status", job, "-o", "json").stdout)
        self.assertEqual(one["message"], "waiting (scripted)")
        self.assertGreater(one["starts_in_ms"], 3500000)
        self.assertIn("expected to start in 59m", self.ends(0, "why", job).stdout.decode())
        self.assertEqual(self.events(job), before)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.communicate(timeout=base.DEADLINE)[1].count(b"waiting"), 0)

    def test_a_retry_that_waits_is_sent_now_by_retry(self):
        job = self.rehearse("exit 3; exit 0", "--set", "retry.max=2", "--set", "retry.wait=1h", "--set", "retry.on=unknown")
        end = time.monotonic() + base.DEADLINE
        while "retry 1 of 2 in " not in (said := self.ends(0, "ps").stdout.decode()):
            self.assertLess(time.monotonic(), end, said)
            self.ends(0, "watcher", "once")
            time.sleep(0.1)
        self.assertIn("attempt 2", self.say(0, "retry", job))
        self.ends(0, "wait", job, "--timeout", "20s")
        self.assertIn("attempt-now", "".join(self.events(job)))

    def test_following_a_platform_that_does_not_answer_says_so(self):
        job = self.rehearse("running")
        self.until_state(job, "Running")
        self.env["SLIPWAY_REHEARSAL_API"] = "slow 60s"
        try:
            logs = self.start("logs", "-f", job)
            self.assertIn(b"rehearsal does not answer, the log continues when it answers", logs.stderr.readline())
        finally:
            logs.kill()
            logs.communicate()
            self.env["SLIPWAY_REHEARSAL_API"] = "up"


if __name__ == "__main__":
    base.SLIPWAY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
