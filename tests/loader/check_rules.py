#!/usr/bin/env python3
"""Checks that the rules of docs/spec/{manifest,configuration}.md and what proves them fit together.

  check_rules.py ROOT VERDICT   VERDICT is the program of verdict.cpp; prints what is wrong; exit 1 if anything is
  check_rules.py self-test      checks a table with known faults

A rule is a row of a table: | M-07 | what it says | `code` | message | proof |. Documents of the corpus and GoogleTest
cases claim a rule by their name: M-07-home.json, M07Something. Every rule must be claimed, every claim must be of a
rule, and a document that is named for a rule must be judged with the rule's code.
"""
import os
import re
import subprocess
import sys

KINDS = {"manifest": ("M", "docs/spec/manifest.md"), "config": ("C", "docs/spec/configuration.md")}
TESTS = "tests"
ROW = re.compile(r"^\| ([MC]-\d\d) \| [^|]+ \| (—|`[a-z0-9.*-]+`) \|[^|]*\| ([^|]+) \|$", re.M)
CASE = re.compile(r"\b((?:[MC]\d\d)+)(?=[A-Z_])\w*")


def rules_of(text):
    """Rule id -> (code or "ok", proof). The first code of a row is that of the documents."""
    rules = {}
    for rule, code, proof in ROW.findall(text):
        rules[rule] = ("ok" if code == "—" else code.split("`")[1], proof)
    return rules


def cases_of(text):
    """The names of the test cases that claim rules -> the rules."""
    return {match.group(): [f"{name[0]}-{name[1:]}" for name in re.findall(r"[MC]\d\d", match.group(1))]
            for match in CASE.finditer(text)}


def faults_of(rules, documents, cases):
    """documents: (verdict folder, name, code); cases: name -> rules."""
    faults, claimed = [], set()
    names = {name for _, name, _ in documents} | set(cases)
    for folder, name, code in documents:
        rule = re.match(r"[MC]-\d\d(?=-)", name)
        if not rule:
            if folder == "bad":
                faults.append(f"{name}: a bad document must be named for the rule that it breaks")
            continue
        claimed.add(rule.group())
        wanted = rules.get(rule.group(), (None, ""))[0] if folder == "bad" else "ok"
        if wanted is not None and code != wanted:
            faults.append(f"{name}: wanted {wanted}, the parser says {code}")
    for case_rules in cases.values():
        claimed.update(case_rules)
    faults += [f"{rule}: no document and no test claims it" for rule in sorted(set(rules) - claimed)]
    faults += [f"{rule}: claimed, but not in the documentation" for rule in sorted(claimed - set(rules))]
    for rule, (_, proof) in sorted(rules.items()):
        for name in re.findall(r"`([^`]+)`", proof):
            found = any(one.startswith(name[:-1]) for one in names) if name.endswith("*") else name in names
            if not found or rule.replace("-", "") not in name.replace("-", ""):
                faults.append(f"{rule}: its proof '{name}' is not there")
        if "`" not in proof:
            faults.append(f"{rule}: names no proof")
    return faults


SELF_TEST = """
| M-01 | fine | `manifest.syntax` | message | `M-01-*`, `M01Fine` |
| M-02 | nobody claims it | — | message | `M02Missing` |
| M-03 | its document has another code | `manifest.type` | message | `M-03-other` |
| M-04 | no proof | — | message | none |
"""


def self_test():
    documents = [("bad", "M-01-a", "manifest.syntax"), ("bad", "M-03-other", "manifest.value"),
                 ("bad", "unnamed", "manifest.value"), ("good", "plain", "ok")]
    cases = cases_of("TEST(Manifest, M01Fine) TEST_F(Manifest, M04M05Both) TEST(Manifest, M999) MC10x")
    found = sorted(fault.split(":")[0] for fault in faults_of(rules_of(SELF_TEST), documents, cases))
    wanted = ["M-02", "M-02", "M-03-other", "M-04", "M-05", "unnamed"]
    return [] if found == wanted else [f"wanted {wanted}, found {found}"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def documents_of(root, kind, verdict):
    found = []
    for folder in ("good", "bad"):
        where = os.path.join(root, "tests/loader/corpus", kind, folder)
        found += [(folder, os.path.join(where, name)) for name in sorted(os.listdir(where))]
    done = subprocess.run([verdict, kind], input="".join(path + "\n" for _, path in found), capture_output=True,
                          text=True, check=True)
    return [(folder, os.path.basename(path).removesuffix(".json"), code)
            for (folder, path), code in zip(found, done.stdout.split("\n"))]


def check(root, verdict):
    cases = {}
    for folder, _, files in os.walk(os.path.join(root, TESTS)):
        for name in files:
            if name.endswith(".cpp"):
                cases.update(cases_of(read(os.path.join(folder, name))))
    faults = []
    for kind, (letter, path) in KINDS.items():
        rules = rules_of(read(os.path.join(root, path)))
        mentioned = set(re.findall(rf"^\| ({letter}-\d\d)", read(os.path.join(root, path)), re.M))
        faults += [f"{path}: {rule} is not a row of five cells" for rule in sorted(mentioned - set(rules))]
        own = {name: [rule for rule in of if rule[0] == letter] for name, of in cases.items()}
        faults += faults_of(rules, documents_of(root, kind, verdict), own)
    return faults


def main(arguments):
    if arguments != ["self-test"] and len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    faults = self_test() if arguments == ["self-test"] else check(*arguments)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
