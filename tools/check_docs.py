#!/usr/bin/env python3
"""Checks that every function of the ABI is documented: a comment with one of the thread tags [any], [obj], [cb].

  check_docs.py ROOT        prints file:line and the function; exit 1 if any lacks a comment or a tag
  check_docs.py self-test   checks a header with known faults
"""
import os
import re
import sys

ABI = "sdk/include/backplane/abi"
TAG = re.compile(r"\[(any|obj|cb)\]")
# A slot of a table or a function type: both have "(BP_CALL *name)(".
FUNCTION = re.compile(r"\(BP_CALL \*(\w+)\)\(")
# Generic function pointer types, which document no function.
EXEMPT = {"bp_proc"}


def split_comments(text):
    """Yields (kind, text, offset) pieces: 'comment' or 'code'."""
    at = 0
    for match in re.finditer(r"/\*.*?\*/", text, re.S):
        if match.start() > at:
            yield "code", text[at:match.start()], at
        yield "comment", match.group(), match.start()
        at = match.end()
    yield "code", text[at:], at


def faults_of(name, text):
    faults, comment = [], ""
    for kind, piece, offset in split_comments(text):
        if kind == "comment":
            comment = piece
            continue
        for number, match in enumerate(FUNCTION.finditer(piece)):
            function = match.group(1)
            line = text.count("\n", 0, offset + match.start()) + 1
            # One comment documents the first function behind it, no more.
            if function not in EXEMPT and (number > 0 or not TAG.search(comment)):
                faults.append(f"{name}:{line}: {function} has no comment with a thread tag before it")
    return faults


BAD_HEADER = """
/* Does a thing. [any] */
typedef void(BP_CALL *fine_fn)(void);
struct table {
  /* Does another. [obj] */
  void(BP_CALL *fine)(void);
  void(BP_CALL *bare)(void);
  /* Says nothing of threads. */
  void(BP_CALL *untagged)(void);
};
"""


def self_test():
    found = [fault.split()[1] for fault in faults_of("bad.h", BAD_HEADER)]
    return [] if found == ["bare", "untagged"] else [f"wanted bare and untagged, found {found}"]


def check(root):
    faults = []
    for file in sorted(os.listdir(os.path.join(root, ABI))):
        if file.endswith(".h"):
            with open(os.path.join(root, ABI, file), encoding="utf-8") as header:
                faults += faults_of(f"{ABI}/{file}", header.read())
    return faults


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    faults = self_test() if arguments[0] == "self-test" else check(arguments[0])
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
