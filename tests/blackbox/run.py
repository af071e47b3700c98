#!/usr/bin/env python3
"""Runs the checks:  python tests/blackbox/run.py --nats nats://127.0.0.1:4222 [-k PATTERN]

Prints one PASS or FAIL line per check and `N passed, N failed` at the end; exit 1 on failures.
"""

import argparse
import asyncio
import importlib
import os
import re
import sys
import time

from contract import CHECKS, Fail, Lab, connect, fresh

# The files register their checks when they are read, in this order.
FILES = (
    "check_service",
    "check_proof",
    "check_append",
    "check_content",
    "check_uploads",
    "check_prune",
    "check_refusals",
    "check_restore",
    "check_expand",
    "check_window",
    "check_render",
    "check_summaries",
    "check_findings",
    "check_authorship",
    "check_protection",
    "check_laundering",
    "check_suggest",
    "check_corpus",
    "check_contradictions",
    "check_histories",
    "check_following",
    "check_records",
    "check_idempotency",
    "check_hostile",
    "check_policy",
    "check_notices",
    "check_runs",
    "check_holds",
    "check_erase",
    "check_search",
    "check_past",
    "check_receipts",
    "check_forks",
    "check_export",
    "check_turmoil",
    "check_pressure",
    "scenario",
)


def innermost(error):
    """Where in the checks an exception was raised."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    return f"{os.path.basename(code.co_filename)}:{trace.tb_lineno} in {code.co_name}"


async def outcome(check, lab, timeout):
    """None if the check passed, else why it failed."""
    try:
        await asyncio.wait_for(check(lab), timeout)
    except Fail as error:
        return str(error)
    except asyncio.TimeoutError:
        return f"timed out after {timeout:g} s"
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        return (
            f"reply not in the promised shape: {type(error).__name__} {error} ({innermost(error)})"
        )
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


async def main():
    """Runs what the command line asks for; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nats", default="nats://127.0.0.1:4222", help="the broker's URL")
    parser.add_argument("-k", default="", metavar="PATTERN", help="only checks that match this")
    parser.add_argument("-l", "--list", action="store_true", help="list the checks, run nothing")
    parser.add_argument("-v", "--verbose", action="store_true", help="how long each check took")
    parser.add_argument("--timeout", type=float, default=20, help="seconds that one check may take")
    parser.add_argument("--tenant", default=fresh("bb-"), help="the tenant to work in")
    options = parser.parse_args()
    for name in FILES:
        importlib.import_module(name)
    checks = [each for each in CHECKS if re.search(options.k, each.__name__)]
    if options.list:
        for each in checks:
            print(f"{each.__name__}: {(each.__doc__ or '').strip().splitlines()[0]}")
        return 0
    connection, failed = await connect(options.nats), 0
    for each in checks:
        lab, started = Lab(connection, options.tenant), time.monotonic()
        why = await outcome(each, lab, options.timeout)
        failed += why is not None
        line = f"FAIL {each.__name__} — {why}" if why is not None else f"PASS {each.__name__}"
        if options.verbose:
            line += f" ({time.monotonic() - started:.2f} s)"
        print(line, flush=True)
        for note in lab.notes:
            print(f"     note: {note}")
    print(f"{len(checks) - failed} passed, {failed} failed")
    await connection.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
