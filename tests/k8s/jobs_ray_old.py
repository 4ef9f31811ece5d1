# SPDX-License-Identifier: Apache-2.0
"""jobs_ray_old.py - a KubeRay that is older than tokens (1.3): claims of tests/k8s/try-jobs. No operator runs."""
from jobs_client import expect


def a_field_that_the_server_does_not_know_is_not_sent(here):
    done = here.try_submit("true", launcher="ray", nodes=2)
    expect(done.returncode == 0 and "no token" in done.stderr, done.stderr)
    found = here.list("rayjobs", "ray.io/v1")
    expect(len(found) == 1 and "authOptions" not in found[0]["spec"]["rayClusterSpec"], found)
    expect(found[0]["spec"]["suspend"] is False and found[0]["metadata"]["annotations"]["slipway.sent"], found)
    here.call("cancel", "-y", done.stdout.strip())
    expect(not here.list("rayjobs", "ray.io/v1"), "it goes")
