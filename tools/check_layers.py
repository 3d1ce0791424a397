#!/usr/bin/env python3
"""Checks the #includes of every source against the layers of the house, and the place of each third-party library.

  check_layers.py ROOT        prints file:line and what is wrong; exit 1 if anything is
  check_layers.py self-test   checks a small tree with known faults
"""
import os
import re
import subprocess
import sys
import tempfile

# Layer -> the layers whose public headers it may include, besides its own. sdk means sdk/include/backplane/{abi,sdk}.
LAYERS = {
    "sdk": [],
    "plugins": ["sdk"],
    "base": ["sdk"],
    "graph": ["sdk", "base"],
    "reference": ["sdk", "base", "graph"],
    "registry": ["sdk", "base"],
    "runtime": ["sdk", "base", "graph", "registry"],
    "scheduler": ["sdk", "base", "graph", "runtime"],
    "formats": ["sdk", "base", "graph", "reference"],
    "host": ["sdk", "base", "graph", "reference", "registry", "runtime", "scheduler", "formats"],
}
ANYTHING_PUBLIC = LAYERS["host"]  # examples, tests, bench
# Folder prefix -> layer; the first that fits decides.
FOLDERS = [("sdk/", "sdk"), ("plugins/", "plugins"), ("host/formats/", "formats"),
           ("host/include/backplane/formats", "formats"), ("host/", "host"), ("core/probe/", "registry")]
for _layer in ("base", "graph", "reference", "registry", "runtime", "scheduler"):
    FOLDERS += [(f"core/{_layer}/", _layer), (f"core/include/backplane/{_layer}/", _layer)]

# Header of a third-party library -> where it may be included. Tests and benchmarks may use what they please.
THIRD_PARTY = [
    (r"boost/", ["core/registry/plugin/library.cpp"]),
    (r"nlohmann/", ["core/base/json.cpp", "host/"]),
    (r"nettle/", ["core/base/sha256.cpp"]),
    (r"spdlog/", ["core/base/log.cpp", "host/"]),
    (r"CLI/", ["host/"]),
    (r"onnx/|google/protobuf/|.*\.pb\.h$", ["host/"]),
    (r"(stb/)?stb_", ["host/", "examples/"]),
    (r"hwy/", ["plugins/cpu/"]),
    (r"memkind|hbwmalloc", ["plugins/cpu-hbm/"]),
]
FREE = ("tests/", "bench/", "examples/")
SOURCE = re.compile(r"\.(c|h|cpp|hpp|inc)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


def layer_of(path):
    return next((layer for prefix, layer in FOLDERS if path.startswith(prefix)), None)


def included_layer(header):
    """The layer of a header of ours, public (backplane/<layer>/) or private to the core (<layer>/), else None."""
    match = re.match(r"backplane/([a-z_]+)[/.]", header)
    if match:
        return "sdk" if match.group(1) in ("abi", "sdk") else match.group(1)
    match = re.match(r"(base|graph|reference|registry|runtime|scheduler)/", header)
    return match.group(1) if match else None


def fault_of_layer(path, header):
    target = included_layer(header)
    if target is None:
        return None
    own = layer_of(path)
    allowed = ANYTHING_PUBLIC if own is None else LAYERS[own] + [own]
    private = not header.startswith("backplane/")
    if private and not path.startswith(("core/", *FREE)):
        return f"'{header}' is a private header of the core"
    if target in allowed:
        return None
    return f"layer '{own or 'tests, examples'}' may not include '{header}'; it may include {', '.join(allowed)}"


def fault_of_third_party(path, header):
    if path.startswith(FREE):
        return None
    for pattern, places in THIRD_PARTY:
        if re.match(pattern, header) and not path.startswith(tuple(places)):
            return f"'{header}' belongs into {' and '.join(places)} only"
    return None


def fault_of_reach(root, path, header):
    """A quoted include must not climb into the private files of another part of the tree."""
    target = os.path.normpath(os.path.join(os.path.dirname(path), header))
    if not os.path.exists(os.path.join(root, target)) or path.startswith(FREE):
        return None
    own, other = layer_of(path), layer_of(target)
    same_plugin = path.split("/")[:2] == target.split("/")[:2]
    if path.startswith("plugins/") and not same_plugin:
        shared = path.startswith("plugins/cpu-hbm/") and target.startswith("plugins/cpu/")
        return None if shared else f"'{header}' is a file of another plugin"
    return None if own == other else f"'{header}' is a private file of {other or target}"


def check_file(root, path):
    faults = []
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, header = match.groups()
            fault = fault_of_layer(path, header) or fault_of_third_party(path, header)
            if quote == '"':
                fault = fault or fault_of_reach(root, path, header)
            if fault:
                faults.append(f"{path}:{number}: {fault}")
    return faults


def sources(root):
    """Every source that git tracks or would track; all files where there is no repository."""
    command = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True)
    if listed.returncode == 0:
        files = listed.stdout.splitlines()
    else:
        files = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, names in os.walk(root) for name in names]
    return sorted(f for f in files if SOURCE.search(f) and os.path.exists(os.path.join(root, f)))


def check(root):
    return [fault for path in sources(root) for fault in check_file(root, path)]


# A tree with faults: path -> (text, how many faults it has).
BAD_TREE = {
    "sdk/include/backplane/sdk/a.hpp": ('#include "backplane/abi/abi.h"\n#include <backplane/base/status.hpp>\n', 1),
    "plugins/cpu/src/a.cpp": ('#include "backplane/sdk/plugin.hpp"\n#include <hwy/highway.h>\n', 0),
    "plugins/cpu/src/b.cpp": ('#include "backplane/graph/graph.hpp"\n', 1),
    "plugins/other/a.cpp": ('#include "../cpu/src/a.hpp"\n#include <hwy/highway.h>\n', 2),
    "plugins/cpu/src/a.hpp": ("#include <vector>\n", 0),
    "plugins/cpu-hbm/a.cpp": ('#include "../cpu/src/a.hpp"\n#include <hbwmalloc.h>\n', 0),
    "core/base/json.cpp": ("#include <nlohmann/json.hpp>\n", 0),
    "core/base/text.cpp": ("#include <nlohmann/json.hpp>\n#include <spdlog/spdlog.h>\n", 2),
    "core/registry/plugin/library.cpp": ("#include <boost/dll/shared_library.hpp>\n", 0),
    "core/registry/other.cpp": ("  #  include <boost/dll/shared_library.hpp>\n", 1),
    "core/runtime/a.cpp": ('#include "registry/registry.hpp"\n#include "scheduler/executor.hpp"\n', 1),
    "host/verbs/b.cpp": ('#include "registry/registry.hpp"\n', 1),
    "core/graph/a.cpp": ('#include "backplane/registry/device.hpp"\n', 1),
    "core/reference/a.cpp": ('#include "backplane/graph/graph.hpp"\n', 0),
    "core/include/backplane/scheduler/a.hpp": ('#include "backplane/registry/device.hpp"\n', 1),
    "core/scheduler/a.cpp": ('#include "../base/private.hpp"\n', 1),
    "core/base/private.hpp": ("", 0),
    "host/formats/onnx/a.cpp": ('#include "backplane/runtime/device.hpp"\n#include "../../verbs/a.hpp"\n', 2),
    "host/verbs/a.hpp": ('#include "backplane/formats/onnx.hpp"\n', 0),
    "host/main.cpp": ('#include <CLI/CLI.hpp>\n#include "backplane/scheduler/session.hpp"\n', 0),
    "tests/core/a.cpp": ("#include <nlohmann/json.hpp>\n", 0),
}


def self_test():
    with tempfile.TemporaryDirectory() as root:
        for path, (text, _) in BAD_TREE.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        found = check(root)
    faults = []
    for path, (_, wanted) in BAD_TREE.items():
        count = sum(fault.startswith(path + ":") for fault in found)
        if count != wanted:
            faults.append(f"{path}: wanted {wanted} faults, found {count}")
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
