#!/usr/bin/env python3
"""Checks that plugins export bp_get_proc_address and nothing else.

  check_exports.py LIBRARY...    prints what else is exported, or missing; exit 1 if anything is
"""
import subprocess
import sys

ENTRY = "bp_get_proc_address"


def exports(library):
    result = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library], capture_output=True, text=True,
                            check=True)
    return {line.split()[0].split("@")[0] for line in result.stdout.splitlines()}


def main(arguments):
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    faults = []
    for library in arguments:
        found = exports(library)
        if ENTRY not in found:
            faults.append(f"{library}: does not export {ENTRY}")
        faults += [f"{library}: exports {name}" for name in sorted(found - {ENTRY})]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
