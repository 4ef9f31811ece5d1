# SPDX-License-Identifier: Apache-2.0
"""claims.py - runs functions whose names are claims, each against the same place, and says which broke."""
import os
import subprocess
import sys
import time
import traceback

from place import Place


def claims_of(names):
    """The functions of a test program that take the place, in the order they stand there."""
    return [value for value in names.values() if getattr(value, "__module__", "") == "__main__" and
            hasattr(value, "__code__") and value.__code__.co_varnames[:value.__code__.co_argcount] == ("place",)]


def hold(claim, place):
    began = time.monotonic()
    try:
        place.faults()
        told = claim(place)
        print(f"ok      {claim.__name__} ({time.monotonic() - began:.1f} s) {told or ''}".rstrip(), flush=True)
        return True
    except (AssertionError, subprocess.SubprocessError, OSError) as why:
        line = traceback.extract_tb(why.__traceback__)[1].lineno
        print(f"BROKEN  {claim.__name__}, line {line}: {str(why)[:2000]}", flush=True)
        return False


def main(names, with_runner=False, **kind):
    """SLIPWAY [RUNNER] PEERS_FOLDER [PART_OF_A_NAME]; the exit status."""
    given = sys.argv[1:]
    slipway = os.path.abspath(given.pop(0))
    if with_runner:
        kind["runner"] = os.path.abspath(given.pop(0))
    peers, wanted = os.path.abspath(given[0]), given[1] if len(given) > 1 else ""
    built = subprocess.run([os.path.join(os.path.dirname(os.path.abspath(__file__)), "build-peers"), peers])
    if built.returncode:
        return built.returncode
    place = Place(slipway, peers, **kind)
    try:
        held = [hold(claim, place) for claim in claims_of(names) if wanted in claim.__name__]
    finally:
        place.close()
    return 0 if all(held) else 1
