# SPDX-License-Identifier: Apache-2.0
"""claims.py - runs functions whose names are claims, several at once, and says which of them hold.

A claim is a function of a test program whose first parameter is `here`, the client that is made for it.
It fails by raising. `@alone` marks a claim that disturbs the server of all, counts what all made there, or
measures time: it runs by itself, after the others.

    def a_job_that_ends_is_complete(here):
        job = here.submit("true")
        expect(here.over(job)["status"] == "Complete", "it did not complete")

    if __name__ == "__main__":
        sys.exit(claims.main(globals(), Client, at_once=3))
"""
import concurrent.futures
import sys
import time
import traceback


def alone(claim):
    claim.alone = True
    return claim


def claims_in(names, parameter="here"):
    """The claims among the names of a test program, in the order they are written there."""
    return [value for value in names.values()
            if hasattr(value, "__code__") and value.__code__.co_argcount == 1 and
            value.__code__.co_varnames[0] == parameter]


def prove(claim, make, title=""):
    """One claim with a client of its own. True: it holds."""
    here, began = make(), time.monotonic()
    try:
        said = claim(here)
        print(f"ok      {title}{claim.__name__} ({time.monotonic() - began:.1f} s) {said or ''}".rstrip(), flush=True)
        return True
    except Exception as why:                 # whatever it raised, the other claims run
        print(f"FAILED  {title}{claim.__name__}: {type(why).__name__}: {why}\n"
              f"{''.join(traceback.format_tb(why.__traceback__)[1:])}{here.explain()}", flush=True)
        return False
    finally:
        here.close()


def prove_all(claims, make, at_once=1, title=""):
    """Every claim: those that need the server for themselves last. True: all hold, and there was one."""
    beside = [claim for claim in claims if not getattr(claim, "alone", False)]
    by_itself = [claim for claim in claims if claim not in beside]
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        held = list(pool.map(lambda claim: prove(claim, make, title), beside))
    held += [prove(claim, make, title) for claim in by_itself]
    return bool(held) and all(held)


def chosen(claims, words):
    """Those whose names are among the words, or all."""
    return [claim for claim in claims if not words or claim.__name__ in words]


def main(names, make, at_once=1, words=None):
    """The exit status of a test program: PROGRAM [CLAIM...]. `make` gets the path of the program."""
    program, *wanted = sys.argv[1:] if words is None else words
    return 0 if prove_all(chosen(claims_in(names), wanted), lambda: make(program), at_once) else 1
