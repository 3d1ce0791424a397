#!/usr/bin/env python3
"""Checks that every public report that this project learnt from has its test.

  check_rows.py ROOT loader|scheduler   prints what is wrong, and what is left to later issues; exit 1 if it is wrong
  check_rows.py self-test               checks a table with known faults

The tables are in tests/<loader|scheduler>/README.md: | R1 | what went wrong elsewhere | proofs |. Which rows there must
be: see WANTED, and L rows for the rules of docs/spec/loader.md themselves. A proof is one of
  `core/x_test.cpp: Suite.Test`   a GoogleTest case, `host/x_test.py: Class.test_x` a Python one; below tests/
  `core/x_test.cpp: Suite.*`      the whole suite
  `ctest: name`                   a test of CMake's
  [L-07]                          a rule of docs/spec/loader.md that says why there is nothing to test
After the proofs, or instead of them, may stand what is left: "issue 5: what is left to do there".
"""
import os
import re
import sys

TABLE, RULES, TESTS = "tests/{}/README.md", "docs/spec/loader.md", "tests"
# R are reports of loaders in general, G of ggml's. D and Q are defects of ggml's scheduler, W of all of ggml; bare
# numbers are public threads about schedulers.
WANTED = {
    "loader": [f"R{i}" for i in range(1, 84)] + [f"G{i}" for i in range(1, 28)],
    "scheduler": [f"D{i}" for i in range(1, 23)] + [f"Q{i}" for i in range(1, 19)] +
                 [f"W{i}" for i in range(1, 29)] + [str(i) for i in range(1, 42)],
}
ROW = re.compile(r"^\| ((?:[RGDQW]|L-)?\d+) \| ([^|]*) \| ([^|]*) \|$", re.M)
LEFT = re.compile(r"\bissue \d+: .*\S")
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
        if not found and not anchors and not LEFT.search(proofs):
            faults.append(f"{row}: no proof")
        if not symptom.strip():
            faults.append(f"{row}: no symptom")
        if re.sub(r"`[^`]+`|\[L-\d\d\]|[,; ]", "", LEFT.sub("", proofs)):
            faults.append(f"{row}: '{proofs}' is not a list of proofs")
    faults += [f"{row}: not in the table" for row in wanted if row not in seen]
    faults += [f"{row}: twice in the table" for row in sorted(set(seen)) if seen.count(row) > 1]
    faults += [f"{row}: nobody knows it" for row in seen if row not in wanted]
    return faults


def left_in(table):
    return [f"{row}: left to {LEFT.search(proofs)[0]}" for row, _, proofs in ROW.findall(table) if LEFT.search(proofs)]


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
                cases = CASE.findall(read(path))
                tests.update(f"{short}: {suite}.{name}" for suite, case in cases for name in (case, "*"))
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
| R10 | later | issue 5: what is missing |
| 11 | in part | `a_test.cpp: A.Works`; issue 5: the rest |
| R12 | no number | issue: some day |
"""


def self_test():
    wanted = ["L-02", "R12", "R12", "R2", "R3", "R4", "R4", "R5", "R6", "R7", "R9"]
    rows = [f"R{i}" for i in range(1, 8)] + ["L-01", "L-02", "R10", "11", "R12"]
    tests = {"a_test.cpp: A.Works", "ctest: x.y"}
    found = [fault.split(":")[0] for fault in faults_of(SELF_TEST, tests, {"L-01"}, rows)]
    faults = [] if sorted(found) == wanted else [f"wanted {wanted}, found {sorted(found)}"]
    left = ["R10: left to issue 5: what is missing", "11: left to issue 5: the rest"]
    if left_in(SELF_TEST) != left:
        faults.append(f"left: {left_in(SELF_TEST)}")
    text = "class A(B):\n    def test_x(self):\n        pass\n    def helper(self):\n        pass\n"
    if python_cases(text) != [("A", "test_x")]:
        faults.append(f"python cases: {python_cases(text)}")
    if CASE.findall("TEST_F(A, B) {\n  TEST(C, D)\nTEST_P(E,\n       F)") != [("A", "B"), ("E", "F")]:
        faults.append("GoogleTest cases")
    return faults


def check(root, name):
    rules, wanted = set(), WANTED[name]
    if name == "loader":
        text = read(os.path.join(root, RULES))
        rules, wanted = set(RULE.findall(text)), wanted + RULE.findall(text[:text.index(REASONS)])
    table = read(os.path.join(root, TABLE.format(name)))
    for row in left_in(table):
        print(row)
    return faults_of(table, tests_of(root), rules, wanted)


def main(arguments):
    if arguments == ["self-test"]:
        faults = self_test()
    elif len(arguments) == 2 and arguments[1] in WANTED:
        faults = check(*arguments)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
