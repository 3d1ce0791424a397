#!/usr/bin/env python3
"""Checks that the codes in the sources are those of docs/spec/loader.md, and the other way round.

  check_codes.py ROOT        prints what is wrong; exit 1 if anything is
  check_codes.py self-test   checks sources and a list with known faults

Codes are mostly written out, "area.two-words". Some are put together: the readers of documents and the lint put their
area before a word, and the JSON parser's are renamed to the area of the document.
"""
import os
import re
import sys

LIST = "docs/spec/loader.md"
FOLDERS = ["core/registry", "core/runtime"]
JSON = "core/base/json.cpp"
LISTED = re.compile(r"^\| `([a-z]+(?:\.[a-z0-9*-]+)?)` \| [^|]+ \| [^|]+ \|", re.M)
WHOLE = re.compile(r'"([a-z]+\.[a-z0-9][a-z0-9-]*)"')
# No codes: files, keys of the configuration, and a prefix of the program's own.
NO_CODE = re.compile(r"\.(hpp|h|cpp|json|so)$|^devices\.(order|hide)$")
PARTS = [  # where a word becomes a code, how it is written, and of which areas
    (r"manifest/document_reader\.hpp$", re.compile(r'\berror\([^,]+, "([a-z0-9-]+)"'), ["manifest", "config"]),
    (r"manifest/manifest\.cpp$", re.compile(r'\berror\([^,]+,\s*"([a-z0-9-]+)"'), ["manifest"]),
    (r"configuration/config_document\.cpp$", re.compile(r'\berror\([^,]+,\s*"([a-z0-9-]+)"'), ["config"]),
    (r"elf/plugin_lint\.cpp$", re.compile(r'(?:\bwarn\(|Severity::\w+,)\s*"([a-z0-9-]+)"'), ["lint"]),
    (r"base/json\.cpp$", re.compile(r'"json\.([a-z0-9-]+)"'), ["manifest", "config"]),
]
# Made of the plugin's own code, and words that are codes without an area.
FAMILIES, WORDS = {"abi.*"}, {"ok", "eligible"}


def codes_of(path, text):
    text = re.sub(r"//[^\n]*", "", text)
    codes = {code for code in WHOLE.findall(text) if not NO_CODE.search(code) and not code.startswith("json.")}
    for where, pattern, areas in PARTS:
        if re.search(where, path):
            codes |= {f"{area}.{word}" for word in pattern.findall(text) for area in areas}
    return codes


def faults_of(sources, listed_text):
    used = {}
    for path, text in sources:
        for code in codes_of(path, text):
            used.setdefault(code, path)
    listed = LISTED.findall(listed_text)
    faults = [f"{used[code]}: '{code}' is not in {LIST}" for code in sorted(used) if code not in listed]
    faults += [f"{LIST}: no source has '{code}'" for code in listed if code not in used.keys() | FAMILIES | WORDS]
    faults += [f"{LIST}: '{code}' is there twice" for code in sorted(set(listed)) if listed.count(code) > 1]
    return faults


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def sources_of(root):
    paths = [os.path.join(root, JSON)]
    for top in FOLDERS:
        for folder, _, files in os.walk(os.path.join(root, top)):
            paths += [os.path.join(folder, name) for name in sorted(files) if name.endswith((".cpp", ".hpp"))]
    return [(os.path.relpath(path, root).replace(os.sep, "/"), read(path)) for path in paths]


def self_test():
    sources = [("core/registry/a.cpp", '#include "hint.hpp"\nx("area.fine"); // "area.comment"\nx("area.unlisted");'),
               ("core/registry/manifest/manifest.cpp", 'return error(at, "value", cat("x"));'),
               ("core/base/json.cpp", 'fail("json.syntax")')]
    listed = "".join(f"| `{code}` | stage | meaning | do |\n" for code in
                     ["ok", "area.fine", "area.gone", "manifest.value", "manifest.syntax", "config.syntax", "abi.*",
                      "area.fine"])
    found = sorted(re.search(r"'([^']+)'", fault).group(1) for fault in faults_of(sources, listed))
    wanted = ["area.fine", "area.gone", "area.unlisted"]
    return [] if found == wanted else [f"wanted {wanted}, found {found}"]


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    if arguments == ["self-test"]:
        faults = self_test()
    else:
        faults = faults_of(sources_of(arguments[0]), read(os.path.join(arguments[0], LIST)))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
