# SPDX-License-Identifier: Apache-2.0
"""what_ran.py - what is recorded of a job, a new job from an old one, and what differs between two.

usage: what_ran.py SLIPWAY [TEST...]
"""
import contextlib
import json
import os
import pwd
import socket
import sqlite3
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import command_line as base  # noqa: E402

CANARY = "canary-5eb1d7c0ffee"


class Fixture(base.Fixture):
    def setUp(self):
        super().setUp()
        self.state, self.work = self.work / "state", self.work / "project"
        self.work.mkdir()
        self.home = self.state.parent

    def tearDown(self):
        self.work = self.home
        super().tearDown()

    def git(self, *words, **more):
        env = {**self.env, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
               "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(["git", *words], cwd=self.work, env=env, capture_output=True, timeout=base.DEADLINE, **more)
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done.stdout.decode().strip()

    def write(self, name, text):
        (self.work / name).write_text(text)

    def repository(self):
        self.write("job.yaml", "name: train\ncommand: cat train.py; echo \"lr=$LR\"\nenv: {LR: '0.1'}\n"
                               "labels: {team: vision}\n")
        self.write("train.py", "one\ntwo\nthree\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-qm", "first")

    def run_job(self, *words, status=0):
        self.ends(status, "run", "-d", *words)
        job = json.loads(self.ends(0, "ps", "-n", "1", "-o", "json").stdout)["jobs"][0]["id"]
        self.ends(status, "wait", job)
        return job

    def card(self, job):
        return self.ends(0, "status", job).stdout.decode()

    def known(self, job):
        return json.loads(self.ends(0, "status", job, "-o", "json").stdout)

    def differences(self, one, other):
        document = json.loads(self.ends(0, "diff", one, other, "-o", "json").stdout)
        self.assertEqual((document["version"], document["first"], document["second"]), (1, one, other))
        return {each["key"]: each for each in document["differences"]}


class WhatRan(Fixture):
    def test_status_shows_what_ran_where_and_from_whom(self):
        self.repository()
        self.write("train.py", "one\n2\nthree\n")
        job = self.run_job("-f", "job.yaml", "--cpus", "1", "--memory", "64MiB", "--time", "10m")
        known, card = self.known(job), self.card(job)
        user, host = pwd.getpwuid(os.geteuid()).pw_name, socket.gethostname().split(".")[0]
        self.assertEqual(known["command"], 'cat train.py; echo "lr=$LR"')
        self.assertEqual(known["file"], str(self.work / "job.yaml"))
        self.assertEqual((known["user"], known["host"].split(".")[0]), (user, host))
        self.assertEqual((known["cpus"], known["memory_bytes"], known["time_limit_ms"]), (1, 64 << 20, 600000))
        self.assertEqual((known["gpus"], known["nodes"], known["gpu_hours"], known["image_digest"]), (0, 1, None, None))
        self.assertEqual(known["git"]["commit"], self.git("rev-parse", "HEAD"))
        self.assertEqual((known["git"]["branch"], known["git"]["dirty"]), ("main", True))
        self.assertEqual([attempt["attempt"] for attempt in known["attempts"]], [1])
        self.assertRegex(card, r"(?m)^  command +cat train\.py; echo \"lr=\$LR\"$")
        self.assertRegex(card, r"(?m)^  resources +1 CPU, 64 MiB of memory, 10m")
        self.assertRegex(card, rf"(?m)^  job file +{self.work}/job\.yaml$")
        self.assertRegex(card, rf"(?m)^  commit +{known['git']['commit'][:10]} on main, with uncommitted changes")
        self.assertRegex(card, rf"(?m)^  by +{user}@{host}")
        self.assertRegex(card, r"(?m)^  platform +local$")

    def test_without_a_repository_or_a_file_that_is_null(self):
        self.env["PATH"] = f"{self.home}/bin:" + self.env["PATH"]
        (self.home / "bin").mkdir()
        (self.home / "bin" / "git").write_text(f"#!/bin/sh\ntouch {self.home}/git-ran\n")
        (self.home / "bin" / "git").chmod(0o755)
        job = self.run_job("--", "echo", "two words")
        known = self.known(job)
        self.assertEqual(known["command"], "echo 'two words'")
        self.assertIsNone(known["git"])
        self.assertIsNone(known["file"])
        self.assertFalse((self.home / "git-ran").exists(), "git was started where there is no repository")

    def test_gpu_hours_and_the_attempts_of_a_job_with_gpus(self):
        job = self.ends(3, "run", "-p", "rehearsal", "--gpus", "H100:4", "--nodes", "2", "--set", "retry.max=1",
                        "--set", "retry.wait=0s", "--set", "rehearsal.script=running 2s, exit 3", "--id", "train-1",
                        "--", "train")
        known, card = self.known("train-1"), self.card("train-1")
        self.assertEqual((known["gpus"], known["gpu_type"], known["nodes"]), (4, "H100", 2), job)
        self.assertGreater(known["gpu_hours"], 8 * 1 / 3600 - 1e-6)
        self.assertRegex(card, r"(?m)^  resources +4 x H100 on each of 2 nodes")
        self.assertRegex(card, r"(?m)^  GPU hours +0\.0")

    def test_lists_have_command_and_labels_and_null_for_what_is_not_known(self):
        self.repository()
        job = self.run_job("-f", "job.yaml")
        self.run_job("--", "true")
        rows = {row["id"]: row for row in json.loads(self.ends(0, "ps", "-o", "json").stdout)["jobs"]}
        self.assertEqual(rows[job]["labels"], {"team": "vision"})
        self.assertEqual(rows[job]["command"], 'cat train.py; echo "lr=$LR"')
        for row in rows.values():
            for key in ("command", "labels", "gpus", "gpu_type", "nodes", "user"):
                self.assertIn(key, row)

    def test_a_long_command_is_whole_in_status_and_short_in_lists(self):
        job = self.run_job("--", "echo", "x" * 5000)
        self.assertEqual(self.known(job)["command"], "echo " + "x" * 5000)
        row = json.loads(self.ends(0, "ps", "-o", "json").stdout)["jobs"][0]
        self.assertTrue(row["command"].endswith("…") and len(row["command"]) <= 400)


class Secrets(Fixture):
    def stored(self):
        """All texts of the store."""
        store = sqlite3.connect(self.state / "jobs.db")
        tables = [name for (name,) in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        texts = [str(row) for table in tables for row in store.execute(f"SELECT * FROM {table}")]
        store.close()
        return "\n".join(texts)

    def test_a_secret_is_in_neither_diff_store_nor_status(self):
        self.repository()
        lines = "-----BEGIN KEY-----\nfirst-line-" + CANARY + "\nsecond-line-" + CANARY + "\n"
        self.env.update(MY_WORD=CANARY, OTHER_API_TOKEN="env-" + CANARY, LONG_KEY=lines)
        self.write(".env.local", f"A={CANARY}\n")
        self.git("add", "-f", ".env.local")
        self.write("train.py", f"one\nword = '{CANARY}'\ntoken = 'env-{CANARY}'\n{lines}url = 'https://h/x?sig={CANARY}'\n")
        job = self.run_job("-f", "job.yaml", "--secret", "MY_WORD", "--secret", "LONG_KEY")
        diff = self.ends(0, "diff", job).stdout.decode()
        self.assertIn("+word = '[redacted]'", diff)
        for text in (diff, self.card(job), json.dumps(self.known(job)), self.stored()):
            self.assertNotIn(CANARY, text)

    def test_a_signed_address_in_a_command_is_not_shown(self):
        job = self.run_job("--", "true", f"https://user:{CANARY}@h/x?X-Amz-Signature={CANARY}")
        other = self.run_job("--", "true", f"https://h/y?X-Amz-Signature={CANARY}")
        shown = self.ends(0, "diff", job, other).stdout + self.ends(0, "diff", job, other, "-o", "json").stdout
        for text in (self.card(job), json.dumps(self.known(job)), self.ends(0, "ps", "-o", "json").stdout.decode(),
                     shown.decode()):
            self.assertNotIn(CANARY, text)

    def test_a_credential_in_env_is_not_shown_by_diff(self):
        self.write("one.yaml", f"command: 'true'\nenv: {{HF_TOKEN: {CANARY}}}\n")
        self.write("other.yaml", f"command: 'true'\nenv: {{HF_TOKEN: other-{CANARY}}}\n")
        one, other = self.run_job("-f", "one.yaml"), self.run_job("-f", "other.yaml")
        shown = self.ends(0, "diff", one, other).stdout.decode()
        self.assertIn("env.HF_TOKEN", shown)
        self.assertNotIn(CANARY, shown)


class Rerun(Fixture):
    def test_a_new_job_from_the_old_request_although_the_file_is_gone_and_the_code_changed(self):
        self.repository()
        old = self.run_job("-f", "job.yaml", "--env", "LR=0.2")
        (self.work / "job.yaml").unlink()
        self.write("train.py", "changed\n")
        again = self.ends(0, "rerun", old)
        self.assertIn(b"changed\nlr=0.2\n", again.stdout)
        changed = self.ends(0, "rerun", old, "--set", "env.LR=0.3", "-p", "local")
        self.assertIn(b"lr=0.3\n", changed.stdout)
        ids = [row["id"] for row in json.loads(self.ends(0, "ps", "-o", "json").stdout)["jobs"]]
        self.assertEqual(len(set(ids)), 3)
        new = self.known(ids[0])
        self.assertEqual((new["file"], new["name"]), (str(self.work / "job.yaml"), "train"))

    def test_another_platform_command_and_id(self):
        old = self.run_job("--", "echo", "old")
        self.assertIn(b"new words\n", self.ends(0, "rerun", old, "--", "echo", "new words").stdout)
        self.ends(0, "rerun", old, "-p", "rehearsal", "--set", "rehearsal.script=running 0s, exit 0", "--id", "chosen")
        self.assertEqual(self.known("chosen")["backend_type"], "rehearsal")
        self.assertEqual(self.known("chosen")["command"], "echo old")

    def test_from_another_folder_it_runs_where_the_first_ran(self):
        self.repository()
        old = self.run_job("-f", "job.yaml")
        self.work = self.home
        self.assertIn(b"one\ntwo\nthree\n", self.ends(0, "rerun", old).stdout)

    def test_a_job_that_was_adopted_has_no_request(self):
        job = self.run_job("--", "true")
        for name in self.state.glob("jobs.db*"):
            name.unlink()
        self.ends(0, "adopt", "-p", "local", job)
        said = self.ends(78, "rerun", job).stderr.decode()
        self.assertRegex(said, f"the request of job '{job}' is not recorded: it was adopted")
        self.assertIn("slipway run", said)


class Diff(Fixture):
    def test_values_with_their_sources_and_the_commit(self):
        self.repository()
        one = self.run_job("-f", "job.yaml")
        self.write("train.py", "other\n")
        self.git("commit", "-qam", "second")
        self.git("checkout", "-q", "-b", "side")
        self.write("train.py", "more\n")
        other = self.run_job("-f", "job.yaml", "--env", "LR=0.2", "--label", "team=speech")
        found = self.differences(one, other)
        self.assertEqual((found["env.LR"]["first"], found["env.LR"]["second"]), ("0.1", "0.2"))
        self.assertRegex(found["env.LR"]["first_source"], r"^job\.yaml:3:\d+$")
        self.assertRegex(found["env.LR"]["second_source"], "^flag --")
        self.assertEqual(found["commit"]["second"], self.git("rev-parse", "HEAD"))
        self.assertEqual((found["branch"]["first"], found["branch"]["second"]), ("main", "side"))
        self.assertEqual(found["uncommitted changes"]["first"], "none")
        self.assertRegex(found["uncommitted changes"]["second"], r"^\d+ B \(sha256 [0-9a-f]{8}\)$")
        table = self.ends(0, "diff", one, other).stdout.decode()
        self.assertRegex(table, r"(?m)^KEY +FIRST +SECOND +FROM$")
        self.assertRegex(table, r"(?m)^env\.LR +0\.1 +0\.2 ")

    def test_the_image_digest_is_compared(self):
        one, other = self.run_job("--", "true"), self.run_job("--", "true")
        said = self.ends(0, "diff", one, other)
        self.assertIn(b"do not differ", said.stderr)
        store = sqlite3.connect(self.state / "jobs.db")
        store.execute("UPDATE documents SET details = json_set(coalesce(details, '{}'), '$.image_digest', 'sha256:1')"
                      " WHERE job = (SELECT seq FROM jobs WHERE id = ?)", (other,))
        store.commit()
        store.close()
        self.assertEqual(self.differences(one, other)["image digest"]["second"], "sha256:1")
        self.assertRegex(self.card(other), r"(?m)^  digest +sha256:1$")

    def test_what_was_not_committed_can_be_applied(self):
        self.repository()
        self.write("train.py", "one\n2\nthree\n")
        self.write("new.py", "new\n")
        self.git("add", "new.py")
        job = self.run_job("-f", "job.yaml")
        self.git("reset", "-q", "--hard")
        patch = self.ends(0, "diff", job).stdout
        self.git("apply", input=patch)
        self.assertEqual((self.work / "train.py").read_text(), "one\n2\nthree\n")
        self.assertEqual((self.work / "new.py").read_text(), "new\n")

    def test_a_cut_diff_says_so(self):
        self.repository()
        self.write("train.py", "".join(f"line {i}\n" for i in range(100000)))
        job = self.run_job("-f", "job.yaml")
        said = self.ends(0, "diff", job)
        self.assertLessEqual(len(said.stdout), 256 * 1024)
        self.assertTrue(said.stdout.endswith(b"\n"))
        self.assertIn(b"cut after 256 KiB", said.stderr)
        self.assertTrue(self.known(job)["git"]["diff_cut"])

    def test_nothing_to_show_is_said(self):
        self.repository()
        said = self.ends(0, "diff", self.run_job("-f", "job.yaml"))
        self.assertEqual(said.stdout, b"")
        self.assertIn(b"no uncommitted changes", said.stderr)


class Usage(Fixture):
    def usage(self, *words):
        return json.loads(self.ends(0, "usage", "-o", "json", *words).stdout)

    def test_idle_gpus_are_known_from_the_runners_report_where_the_platform_measures_none(self):
        self.ends(0, "run", "-p", "rehearsal", "--gpus", "2", "--set", "rehearsal.script=running 1s, exit 0", "--", "train")
        self.assertIsNone(self.usage()["total"]["gpu_idle_share"])
        with contextlib.closing(sqlite3.connect(self.state / "jobs.db")) as store:
            store.execute("UPDATE jobs SET progress = '{\"runner\": {\"gpu\": {\"count\": 2, \"busy_percent\": 40}}}'")
            store.commit()
        self.assertEqual(self.usage()["total"]["gpu_idle_share"], 0.6)

    def test_hours_retries_groups_and_cost(self):
        for user, script in (("vision", "running 2s, exit 0"), ("speech", "running 1s, exit 0")):
            self.ends(0, "run", "-p", "rehearsal", "--gpus", "H100:4", "--label", f"team={user}", "--set",
                      f"rehearsal.script={script}", "--", "train")
        self.run_job("--", "true")
        document = self.usage("--by", "label", "team")
        self.assertEqual((document["version"], document["by"], document["label"], document["since_at"]),
                         (1, "label", "team", None))
        self.assertEqual([row["group"] for row in document["rows"]], ["vision", "speech", None])
        total = document["total"]
        self.assertEqual((total["jobs"], total["retries"], total["cost"], total["gpu_idle_share"]), (3, 0, None, None))
        self.assertGreaterEqual(total["gpu_hours"], 4 * 3 / 3600 - 1e-6)
        self.assertAlmostEqual(sum(row["gpu_hours"] for row in document["rows"]), total["gpu_hours"], 5)
        self.assertEqual({row["group"] for row in self.usage("--by", "platform")["rows"]}, {"rehearsal", "local"})
        self.assertEqual([row["group"] for row in self.usage("--by", "user")["rows"]],
                         [pwd.getpwuid(os.geteuid()).pw_name])
        self.assertAlmostEqual(sum(row["gpu_hours"] for row in self.usage("--by", "day")["rows"]), total["gpu_hours"], 5)
        self.assertEqual(self.usage("--since", "2100-01-01")["total"]["jobs"], 0)

        profiles = self.home / ".config" / "slipway" / "profiles.toml"
        profiles.parent.mkdir(parents=True, exist_ok=True)
        profiles.write_text("[prices]\nh100 = 3600\n")
        priced = self.usage()["total"]
        self.assertAlmostEqual(priced["cost"], 3600 * priced["gpu_hours"], 3)
        table = self.ends(0, "usage", "--by", "label", "team").stdout.decode()
        self.assertRegex(table, r"(?m)^GROUP +JOBS +GPU HOURS +WAITED +RAN +RETRIES +IDLE GPUS +COST$")
        self.assertRegex(table, r"(?m)^total +3 ")
        profiles.write_text("[prices]\nL4 = 1\nH100 = 'much'\n")
        said = self.ends(65, "usage").stderr.decode()
        self.assertIn("profiles.toml:3:1: the price of 'H100' is not a number", said)

    def test_a_group_that_is_none_is_refused(self):
        self.assertIn(b"cannot be grouped by 'colour'", self.ends(64, "usage", "--by", "colour").stderr)
        self.assertIn(b"the key of the label is missing", self.ends(64, "usage", "--by", "label").stderr)
        self.assertIn(b"--by label team", self.ends(64, "usage", "team").stderr)


if __name__ == "__main__":
    base.SLIPWAY = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
