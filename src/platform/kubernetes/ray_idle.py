# SPDX-License-Identifier: Apache-2.0
# ray_idle.py - the driver of a cluster that stays (`slipway ray up`): it ends when no other Ray job ran for a while,
# and the cluster ends with it. Nothing outside the cluster has to watch it.

import json
import os
import sys
import time

from ray.job_submission import JobSubmissionClient

own, idle = sys.argv[1], float(sys.argv[2])
client = JobSubmissionClient("http://127.0.0.1:8265")
last = time.time()
with open(os.path.join(os.environ["SLIPWAY_RESULTS_DIR"], "ray_cluster_info.json"), "w", encoding="ascii") as info:
    json.dump({"version": 1, "dashboard_host": "127.0.0.1", "dashboard_port": 8265}, info)
print(f"slipway: the Ray cluster is up; it ends when no job ran for {idle:.0f} s", flush=True)
while time.time() - last < idle:
    time.sleep(min(5.0, idle / 4))
    try:
        jobs = client.list_jobs()
    except Exception as why:                     # an overloaded head is a busy one
        print(f"slipway: the jobs of the cluster cannot be listed: {why}", file=sys.stderr, flush=True)
        last = time.time()
        continue
    for job in jobs:
        if job.submission_id == own:
            continue
        if not job.status.is_terminal():
            last = time.time()
        elif job.end_time:
            last = max(last, job.end_time / 1000)
print("slipway: the Ray cluster was idle and ends", flush=True)
