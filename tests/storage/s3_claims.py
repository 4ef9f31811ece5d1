# SPDX-License-Identifier: Apache-2.0
"""s3_claims.py - claims about one S3 server: each takes `place`, the server and a client that are the same for all."""
import os
import subprocess
import sys

from s3_place import Place

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import claims  # noqa: E402


def prove_at(place, names, part=""):
    """Every claim whose name holds `part`; the server ends with it. The exit status."""
    try:
        wanted = [claim for claim in claims.claims_in(names, "place") if part in claim.__name__]
        return 0 if claims.prove_all(wanted, place.without_faults) else 1
    finally:
        place.end()


def peers_are_built(peers):
    return subprocess.run([os.path.join(os.path.dirname(os.path.abspath(__file__)), "build-peers"), peers]).returncode


def main(names, with_runner=False, **kind):
    """SLIPWAY [RUNNER] PEERS_FOLDER [PART_OF_A_NAME]; the exit status."""
    given = sys.argv[1:]
    slipway = os.path.abspath(given.pop(0))
    if with_runner:
        kind["runner"] = os.path.abspath(given.pop(0))
    peers, part = os.path.abspath(given[0]), given[1] if len(given) > 1 else ""
    return peers_are_built(peers) or prove_at(Place(slipway, peers, **kind), names, part)
