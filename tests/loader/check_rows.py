#!/usr/bin/env python3
"""Checks that every public report about loaders that this project learnt from has its test.

  check_rows.py ROOT        prints what is wrong; exit 1 if anything is
  check_rows.py self-test   checks a table with known faults

The tables are in tests/loader/README.md: | R1 | what went wrong elsewhere | proofs |. R rows are of loaders in
general, G rows of ggml's, L rows the rules of docs/spec/loader.md themselves. A proof is one of
  `core/x_test.cpp: Suite.Test`   a GoogleTest case, `host/x_test.py: Class.test_x` a Python one; below tests/
  `ctest: name`                   a test of CMake's
  [L-07]                          a rule of docs/spec/loader.md that says why there is nothing to test
"""
import os
import re
import sys

TABLE, RULES, TESTS = "tests/loader/README.md", "docs/spec/loader.md", "tests"
WANTED = [f"R{i}" for i in range(1, 84)] + [f"G{i}" for i in range(1, 28)]
ROW = re.compile(r"^\| ((?:[RG]|L-)\d+) \| ([^|]*) \| ([^|]*) \|$", re.M)
CASE = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.M)
RULE = re.compile(r"^\| (L-\d\d) \|", re.M)
REASONS = "## What cannot happen here"  # the rules behind it need no proof
CTEST = re.compile(r"add_test\(NAME ([\w.]+)")


def faults_of(table, tests, rules, wanted):
    faults, seen = [], []
    for row, symptom, proofs in ROW.findall(table):
        seen.append(row)
        found = re.findall(r"`([^`]+)`", proofs)
        anchors = re.findall(r"\[(L-\d\d)\]", proofs)
        faults += [f"{row}: there is no test '{proof}'" for proof in found if proof not in tests]
        faults += [f"{row}: there is no rule {rule} in {RULES}" for rule in anchors if rule not in rules]
        if not found and not anchors:
            faults.append(f"{row}: no proof")
        if not symptom.strip():
            faults.append(f"{row}: no symptom")
        if re.sub(r"`[^`]+`|\[L-\d\d\]|[,; ]", "", proofs):
            faults.append(f"{row}: '{proofs}' is not a list of proofs")
    faults += [f"{row}: not in the table" for row in wanted if row not in seen]
    faults += [f"{row}: twice in the table" for row in sorted(set(seen)) if seen.count(row) > 1]
    faults += [f"{row}: nobody knows it" for row in seen if row not in wanted]
    return faults


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def python_cases(text):
    cases, owner = [], None
    for match in re.finditer(r"^class (\w+)|^    def (test_\w+)", text, re.M):
        owner = match.group(1) or owner
        if match.group(2):
            cases.append((owner, match.group(2)))
    return cases


def tests_of(root):
    tests = set()
    top = os.path.join(root, TESTS)
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            short = os.path.relpath(path, top).replace(os.sep, "/")
            if name.endswith(".cpp"):
                tests.update(f"{short}: {suite}.{case}" for suite, case in CASE.findall(read(path)))
            elif name.endswith("_test.py"):
                tests.update(f"{short}: {suite}.{case}" for suite, case in python_cases(read(path)))
            elif name == "CMakeLists.txt":
                tests.update(f"ctest: {one}" for one in CTEST.findall(read(path)))
    return tests


SELF_TEST = """
| R1 | fine | `a_test.cpp: A.Works`, `ctest: x.y`, [L-01] |
| R2 | no such test | `a_test.cpp: A.Vanished` |
| R3 | no such rule | [L-99] |
| R4 | prose for a proof | it is obvious |
| R5 |  | `a_test.cpp: A.Works` |
| R6 | twice | [L-01] |
| R6 | twice | [L-01] |
| R9 | a stranger | [L-01] |
| L-01 | a rule | `a_test.cpp: A.Works` |
"""


def self_test():
    wanted = ["L-02", "R2", "R3", "R4", "R4", "R5", "R6", "R7", "R9"]
    found = [fault.split(":")[0] for fault in faults_of(SELF_TEST, {"a_test.cpp: A.Works", "ctest: x.y"}, {"L-01"},
                                                        [f"R{i}" for i in range(1, 8)] + ["L-01", "L-02"])]
    faults = [] if sorted(found) == wanted else [f"wanted {wanted}, found {sorted(found)}"]
    text = "class A(B):\n    def test_x(self):\n        pass\n    def helper(self):\n        pass\n"
    if python_cases(text) != [("A", "test_x")]:
        faults.append(f"python cases: {python_cases(text)}")
    if CASE.findall("TEST_F(A, B) {\n  TEST(C, D)\nTEST_P(E,\n       F)") != [("A", "B"), ("E", "F")]:
        faults.append("GoogleTest cases")
    return faults


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    if arguments == ["self-test"]:
        faults = self_test()
    else:
        root = arguments[0]
        text = read(os.path.join(root, RULES))
        wanted = WANTED + RULE.findall(text[:text.index(REASONS)])
        faults = faults_of(read(os.path.join(root, TABLE)), tests_of(root), set(RULE.findall(text)), wanted)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
