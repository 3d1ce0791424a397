#!/usr/bin/env python3
"""Checks sizes: functions of at most 70 lines, headers of at most 400, sources of at most 600.

  check_sizes.py ROOT        prints file:line and the size; exit 1 if anything is too large
  check_sizes.py self-test   checks texts of known sizes

A function is found by its braces: a block that opens behind a parameter list and is not a namespace, type or
initialiser. That is an estimate, good enough for code that clang-format has been over.
"""
import os
import re
import sys

from check_layers import sources

MAX_FUNCTION, MAX_HEADER, MAX_SOURCE = 70, 400, 600
# Comments, strings and characters, which may hold braces.
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()=;]*$")
FUNCTION_HEAD = re.compile(r"\)\s*(const|noexcept|override|final|mutable|&|\s|->\s*[\w:<>*&, ]+|:\s.*)*$", re.S)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def functions(text):
    """Yields (first line, line count) of each outermost function body, its head's last line included."""
    text = NOISE.sub(blank, text)
    text = re.sub(r"^\s*#(?:\\\n|[^\n])*", blank, text, flags=re.M)
    stack, head_at = [], 0
    for at, char in enumerate(text):
        if char == "{":
            if text[at - 1:at].strip():  # x{...} initialises: a block has a space before it
                stack.append(("initialiser", at))
                continue
            head = text[head_at:at].strip()
            inside = "function" in (kind for kind, _ in stack)
            is_function = not inside and not CONTAINER.search(head) and FUNCTION_HEAD.search(head)
            stack.append(("function" if is_function else "other", at))
            head_at = at + 1
        elif char == "}" and stack:
            kind, opened = stack.pop()
            if kind != "initialiser":
                head_at = at + 1
            if kind == "function":
                first = text.count("\n", 0, opened) + 1
                yield first, text.count("\n", 0, at) + 2 - first
        elif char == ";":
            head_at = at + 1


def faults_of(path, text):
    faults = []
    header = path.endswith((".h", ".hpp"))
    limit, lines = MAX_HEADER if header else MAX_SOURCE, text.count("\n")
    if lines > limit:
        faults.append(f"{path}:1: {lines} lines, at most {limit} are allowed")
    for first, count in functions(text):
        if count > MAX_FUNCTION:
            faults.append(f"{path}:{first}: a function of {count} lines, at most {MAX_FUNCTION} are allowed")
    return faults


def self_test():
    body = "  f();\n" * MAX_FUNCTION
    cases = {
        "int long_one(int a) {\n" + body + "}\n": 1,
        "namespace n {\nclass C {\n  int m() const noexcept {\n" + body + "  }\n};\n}\n": 1,
        "C::C(int a) : a_(a), b_{a} {\n" + body + "}\n": 1,
        "auto f() -> int {\n" + body + "}\n": 1,
        "int short_one() {\n" + "  f();\n" * (MAX_FUNCTION - 2) + "}\n": 0,
        "namespace n {\n" + "int x();\n" * 200 + "}\n": 0,
        "const int table[] = {\n" + "  1,\n" * 100 + "};\n": 0,
        "void f() {\n  g(\"{\");  // {\n}\n" + "int x();\n" * 100: 0,
    }
    faults = [f"wanted {wanted} faults in: {text[:40]!r}" for text, wanted in cases.items()
              if len(faults_of("a.cpp", text)) != wanted]
    if not faults_of("a.hpp", "\n" * 401) or faults_of("a.cpp", "\n" * 401):
        faults.append("the limit of headers is not kept apart from that of sources")
    return faults


def check(root):
    faults = []
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            faults += faults_of(path, file.read())
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
