# SPDX-License-Identifier: Apache-2.0
#
# claims_told.py - claims are reported one by one; the last line and the exit status sum them up.
import sys

failures = []


def claim(name, ok, detail=""):
    print(("ok    " if ok else "FAIL  ") + name, flush=True)
    if not ok:
        failures.append(name)
        print(detail, flush=True)


def finish():
    print(f"{len(failures)} claims do not hold" if failures else "all claims hold")
    sys.exit(1 if failures else 0)
