# SPDX-License-Identifier: Apache-2.0
# ray_driver.py - in the submitter pod of a RayJob, below `slipway-runner relay`: hand the driver to the cluster once,
# and print its log, each character once, until it is over. Ray's own command prints words of its own among them, and
# ends with the log socket, which is not the job's end.

import asyncio
import logging
import os
import shutil
import sys
import tempfile
import time

from ray.job_submission import JobSubmissionClient

AGAIN_SECONDS, PATIENCE_SECONDS = 1, 120
address, job = os.environ["RAY_DASHBOARD_ADDRESS"], os.environ["RAY_JOB_SUBMISSION_ID"]
BEGINS = "slipway: the driver begins\n"
SAID = f"Running entrypoint for job {job}: {os.environ['SLIPWAY_RAY_ENTRYPOINT']}\n"      # by Ray, behind our first lines
logging.disable(logging.INFO)


def patiently(what):
    """A head that does not answer for a moment is not gone."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return what()
        except (ConnectionError, OSError):
            if time.monotonic() > until:
                raise
            time.sleep(AGAIN_SECONDS)


def status():
    try:
        return client.get_job_status(job)
    except RuntimeError as why:
        if "does not exist" in str(why) or "404" in str(why):
            return None
        raise


def package():
    """The folder of the job's files, for a cluster whose pods do not see it."""
    folder = tempfile.mkdtemp()
    for name in os.environ["SLIPWAY_RAY_PACKAGE"].split(":"):
        for file in [name] if os.path.isfile(name) else [os.path.join(name, inside) for inside in os.listdir(name)]:
            if os.path.isfile(file):
                shutil.copy(file, folder)
    return folder


def submit():
    around = {"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": os.environ["SLIPWAY_RAY_STOP_SECONDS"]}}
    if os.environ.get("SLIPWAY_RAY_PACKAGE"):
        around["working_dir"] = package()
    try:
        client.submit_job(entrypoint=os.environ["SLIPWAY_RAY_ENTRYPOINT"], submission_id=job, runtime_env=around)
    except Exception:                            # the answer may be lost, and the job taken
        if patiently(status) is None:
            raise


seen, held = 0, ""                               # held: Ray's own words before the driver's; None: it began


async def follow():
    """The log socket begins at the first character each time."""
    global seen
    at = 0
    async for text in client.tail_job_logs(job):
        show(text[max(0, seen - at):])
        at += len(text)
        seen = max(seen, at)


def show(text):
    global held
    if held is not None:
        held += text
        before, mark, text = ("\n" + held).partition("\n" + BEGINS)
        if not mark:
            return
        held = None
    write(text.replace(SAID, "", 1))


def write(text):
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


client = patiently(lambda: JobSubmissionClient(address if "//" in address else f"http://{address}"))
if patiently(status) is None:
    submit()
while True:
    try:
        asyncio.run(follow())
    except Exception as why:                     # the socket broke: go on behind what was seen
        print(f"slipway: the log of the driver broke off: {why}", file=sys.stderr)
    now = patiently(status)
    if now is None:
        sys.exit("slipway: the Ray cluster has forgotten the driver: its head began anew")
    if now.is_terminal():
        break
    time.sleep(AGAIN_SECONDS)
show(patiently(lambda: client.get_job_logs(job))[seen:])
if held is not None:                             # it never began, and Ray says why
    write(held)
    print(patiently(lambda: client.get_job_info(job)).message, flush=True)
