#!/usr/bin/env python3
"""Checks that the published JSON Schemas and the parsers say the same of every document.

  schema_agreement.py ROOT VERDICT     VERDICT is the program of verdict.cpp; exit 1 on a disagreement, 77 without
                                       the validator (python3-jsonschema)

The documents: the corpus, the examples in the schemas, and mutations of every good document: each member dropped, each
value replaced by one of every other type, an unknown key and an own key added to each object.
"""
import copy
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)

SCHEMAS = {"manifest": "manifests/plugin.schema.json", "config": "manifests/config.schema.json"}

# What a schema cannot say. Each of these documents must still be judged differently by schema and parser.
TWICE = "a schema sees the last of two members with one name"
TOKEN = "1.0 and 1e1 are integers to a schema; the parser wants integer tokens, which mean the same to every reader"
DEPTH = "a schema cannot limit the depth of what it leaves free"
BYTES = "a schema counts characters; a path is limited in bytes"
NUMBER = "a schema has no limit for numbers; the parser has that of a double"
SURROGATE = "a lone surrogate passes Python's reader, but is no Unicode text"
NEWER = "a schema describes one version; a newer minor version has a schema of its own"
EXCEPTIONS = {
    "manifest/bad/M-01-number-overflow": NUMBER,
    "manifest/bad/M-01-lone-surrogate": SURROGATE,
    "manifest/bad/M-02-same-key-twice": TWICE,
    "manifest/bad/M-02-same-own-key-twice": TWICE,
    "manifest/bad/M-05-33-deep": DEPTH,
    "manifest/bad/M-07-4096-bytes-of-few-characters": BYTES,
    "manifest/bad/M-11-rank-fraction-of-nothing": TOKEN,
    "manifest/bad/M-11-rank-exponent": TOKEN,
    "manifest/bad/M-16-min-larger-than-max": "a schema cannot compare two values",
    "manifest/good/M-10-newer-minor": NEWER,
    "config/bad/C-01-number-overflow": NUMBER,
    "config/bad/C-01-lone-surrogate": SURROGATE,
    "config/bad/C-02-same-key-twice": TWICE,
    "config/bad/C-02-same-plugin-twice": TWICE,
    "config/bad/C-05-33-deep": DEPTH,
    "config/bad/C-10-priority-fraction-of-nothing": TOKEN,
    "config/bad/C-10-timeout-exponent": TOKEN,
    "config/bad/C-16-4096-bytes-of-few-characters": BYTES,
    "config/good/C-09-newer-minor": NEWER,
}
ONE_OF_EACH_TYPE = [None, True, 7, 1.5, "text", "", [], {}]


def no_constant(word):
    raise ValueError(f"{word} is not JSON")


def schema_accepts(validator, content):
    """Whether the bytes are a JSON document that the schema accepts."""
    try:
        document = json.loads(content.decode("utf-8-sig"), parse_constant=no_constant)
    except ValueError:
        return False
    return validator.is_valid(document)


def places(value, path=()):
    """Yields the path of the value and of every value in it."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, path + (key,))


def changed(document, path, change):
    """A copy of the document in which change(parent, key) was called for the value at the path."""
    holder = {"root": copy.deepcopy(document)}
    parent, key = holder, "root"
    for step in path:
        parent, key = parent[key], step
    change(parent, key)
    return holder.get("root")


def value_at(document, path):
    for step in path:
        document = document[step]
    return document


def mutations(document):
    """Yields (what was done, document)."""
    for path in places(document):
        name = "/".join(str(step) for step in path) or "the root"
        for other in ONE_OF_EACH_TYPE:
            yield f"{name} = {json.dumps(other)}", changed(document, path, lambda p, k: p.__setitem__(k, other))
        if path:
            yield f"without {name}", changed(document, path, lambda p, k: p.pop(k))
        if isinstance(value_at(document, path), dict):
            for key in ("zz_unknown", "x-own-key"):
                yield f"{key} in {name}", changed(document, path, lambda p, k: p[k].__setitem__(key, 1))


def corpus(root, kind):
    """Yields (name, bytes)."""
    for verdict in ("good", "bad"):
        folder = os.path.join(root, "tests/loader/corpus", kind, verdict)
        for file in sorted(os.listdir(folder)):
            with open(os.path.join(folder, file), "rb") as content:
                yield f"{kind}/{verdict}/{os.path.splitext(file)[0]}", content.read()


def documents(root, kind, schema):
    """All documents of a kind: (name, bytes)."""
    for number, example in enumerate(schema["examples"]):
        yield f"{kind}/good/example {number} of the schema", json.dumps(example).encode()
    for name, content in corpus(root, kind):
        yield name, content
        if "/good/" in name and name not in EXCEPTIONS:
            for what, document in mutations(json.loads(content.decode("utf-8-sig"))):
                yield f"{name}: {what}", json.dumps(document).encode()


def parser_verdicts(verdict, kind, contents):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, content in enumerate(contents):
            paths.append(os.path.join(folder, f"{number}.json"))
            with open(paths[-1], "wb") as file:
                file.write(content)
        done = subprocess.run([verdict, kind], input="\n".join(paths) + "\n", capture_output=True, text=True, check=True)
    verdicts = done.stdout.split("\n")[:-1]
    assert len(verdicts) == len(paths), done.stderr
    return verdicts


def faults_of(name, by_schema, by_parser):
    is_exception = name in EXCEPTIONS
    if by_schema == (by_parser == "ok") and is_exception:
        yield f"{name}: schema and parser agree; take it off the list of exceptions"
    if by_schema != (by_parser == "ok") and not is_exception:
        yield f"{name}: the schema says {'ok' if by_schema else 'no'}, the parser says {by_parser}"
    if ": " not in name and ("/good/" in name) != (by_parser == "ok"):
        yield f"{name}: the parser says {by_parser}"


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    root, verdict = arguments
    faults, seen = [], set()
    for kind, path in SCHEMAS.items():
        with open(os.path.join(root, path), encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        cases = list(documents(root, kind, schema))
        seen.update(name for name, _ in cases)
        verdicts = parser_verdicts(verdict, kind, [content for _, content in cases])
        for (name, content), by_parser in zip(cases, verdicts):
            faults += faults_of(name, schema_accepts(validator, content), by_parser)
        print(f"{kind}: {len(cases)} documents, {verdicts.count('ok')} of them accepted")
    faults += [f"{name}: an exception for a document that does not exist" for name in EXCEPTIONS if name not in seen]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
