#!/usr/bin/env python3
"""The ABI gate: dumps the layout of the plugin ABI, and compares it with the frozen one.

  check_abi.py dump      INCLUDE_DIR             prints the layout of the headers below INCLUDE_DIR
  check_abi.py check     INCLUDE_DIR GOLDEN      exit 1 if a line of GOLDEN no longer holds, or a growth rule is broken
  check_abi.py compile   INCLUDE_DIR CC STANDARD compiles the headers with every warning fatal, padding included
  check_abi.py self-test INCLUDE_DIR             breaks copies of the headers and expects to be told so

A layout line is one fact: a struct's size, a field's offset, size and type, a constant, a function type, a registry
entry. All are kept verbatim for ever, but for those that may grow: the size of a struct that is not marked FROZEN, the
version of an op, and the versions that the headers themselves name. New fields start at or behind the frozen size of their struct.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HEADER = "backplane/abi/abi.h"
ABI_DIR = "backplane/abi"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wpadded", "-Wconversion", "-Werror"]
REGISTRIES = {"types.def": "BP_TYPE", "ops.def": "BP_OP", "attrs.def": "BP_ATTR", "codes.def": "BP_CODE"}
SCALARS = {"uint8_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "double", "bp_code", "bp_run_id"}
HEADS = {"bp_head", "bp_table_head"}
GROWING = ("struct", "op_version", "version")
NOT_CONSTANTS = {"BP_CALL", "BP_EXPORT", "BP_STATIC_ASSERT"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def compiler():
    return os.environ.get("CC", "cc")


def preprocess(include, *flags):
    command = [compiler(), "-std=c11", "-E", "-I", include, "-x", "c", *flags, os.path.join(include, HEADER)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def squeeze(text):
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r" ?([*(),]) ?", r"\1", text)


def signature(result, arguments):
    """A function type without parameter names: renaming one is no change."""
    types = [re.sub(r"(?<=[ *])\w+$", "", part).strip() for part in squeeze(arguments)[1:-1].split(",")]
    return f"{squeeze(result)}({','.join(types)})"


class Field:
    """One member: its name and its type, a function's signature included."""

    def __init__(self, declaration):
        text = squeeze(declaration)
        function = re.match(r"(.*?)\(\*(\w+)\)(\(.*\))$", text)
        if function:
            self.name, self.type = function.group(2), signature(function.group(1), function.group(3))
            return
        plain = re.match(r"(.*?[ *])(\w+)(\[\d+\])?$", text)
        self.name, self.type = plain.group(2), plain.group(1).strip() + (plain.group(3) or "")

    def is_function(self):
        return self.type.endswith(")")


class Headers:
    """What the headers declare, by text."""

    def __init__(self, include):
        self.include = include
        text = preprocess(include, "-P")
        text = text[text.index("typedef int32_t bp_code"):]
        self.structs = {
            name: [Field(part) for part in body.split(";") if part.strip()]
            for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.S)}
        self.functions = {
            name: signature(result, arguments)
            for result, name, arguments in re.findall(r"typedef ([\w\s*]+?)\(\s*\*(\w+)\)(\([^;]*\));", text)}
        self.constants = [
            name for body in re.findall(r"enum \{(.*?)\}", text, re.S) for name in re.findall(r"(BP_\w+) =", body)]
        self.strings = {}
        self.read_macros()
        self.frozen = self.find_frozen()

    def read_macros(self):
        for name, value in sorted(re.findall(r"#define (BP_\w+) (.+)", preprocess(self.include, "-dM"))):
            if name in NOT_CONSTANTS:
                continue
            if value.startswith('"'):
                self.strings[name] = value
            else:
                self.constants.append(name)

    def find_frozen(self):
        """Structs whose comment, before the definition or behind its end, says FROZEN."""
        frozen = set()
        for file in sorted(os.listdir(os.path.join(self.include, ABI_DIR))):
            text = read(os.path.join(self.include, ABI_DIR, file))
            before = re.findall(r"^/\*((?:(?!\*/).)*)\*/\s*typedef struct (\w+) \{", text, re.S | re.M)
            behind = [(comment, name) for name, comment in re.findall(r"^\} (\w+);[ \t]*/\*(.*?)\*/", text, re.M)]
            frozen.update(name for comment, name in before + behind if "FROZEN" in comment)
        return frozen


def probe_source(headers):
    lines = [f'#include "{HEADER}"', "#include <stdio.h>", "int main(void) {"]
    for name, fields in headers.structs.items():
        word = "frozen" if name in headers.frozen else "struct"
        lines.append(f'  printf("{word} {name} %zu\\n", sizeof({name}));')
        for field in fields:
            where = f"offsetof({name}, {field.name}), sizeof((({name} *)0)->{field.name})"
            lines.append(f'  printf("field {name}.{field.name} %zu %zu {field.type}\\n", {where});')
    for name in headers.constants:
        word = "version" if name in ("BP_ABI_VERSION", "BP_OPSET_VERSION") else "constant"
        lines.append(f'  printf("{word} {name} %lld\\n", (long long)({name}));')
    lines += ["  return 0;", "}", ""]
    return "\n".join(lines)


def registry_lines(include):
    lines = []
    for file, macro in REGISTRIES.items():
        for entry in re.findall(rf"^{macro}\((.*)\)$", read(os.path.join(include, ABI_DIR, file)), re.M):
            parts = [part.strip() for part in entry.split(",")]
            kind = file.removesuffix(".def")
            if kind == "ops":
                lines.append(f"op_version {parts[0]} {parts.pop()}")
            lines.append(f"{kind} " + " ".join(parts[:2] if kind == "codes" else parts))
    return lines


def dump(include):
    headers = Headers(include)
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "probe.c"), os.path.join(folder, "probe")
        with open(source, "w", encoding="utf-8") as file:
            file.write(probe_source(headers))
        subprocess.run([compiler(), "-std=c11", "-I", include, source, "-o", program], check=True)
        lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    lines += [f"string {name} {value}" for name, value in headers.strings.items()]
    lines += [f"function {name} {signature}" for name, signature in headers.functions.items()]
    return lines + registry_lines(include)


def broken_rules(include):
    """R1, R8, R10, R11: what a layout cannot show."""
    faults = []
    headers = Headers(include)
    for struct, fields in headers.structs.items():
        if struct.endswith("_i") and fields[0].type != "bp_table_head":
            faults.append(f"R1: table {struct} does not start with a bp_table_head")
        for field in fields:
            base = re.sub(r"\[\d+\]$", "", field.type)
            if field.is_function() or base.endswith("*") or base in SCALARS | HEADS or base in headers.functions:
                continue
            rule = "R8" if base in headers.structs else "R10, R11"
            faults.append(f"{rule}: {struct}.{field.name} has type {field.type}")
    return faults


def reused_ids(lines):
    faults, seen = [], {}
    for line in lines:
        kind, *rest = line.split()
        if kind + ".def" not in REGISTRIES:
            continue
        for fact in [("name", rest[0]), ("id", int(rest[1], 0))]:
            if (kind, fact) in seen:
                faults.append(f"reused {fact[0]} in {kind}.def: '{line}' and '{seen[kind, fact]}'")
            seen[kind, fact] = line
    return faults


def compare(old, new):
    """The lines of `old` that no longer hold, and new fields that reuse old bytes."""
    faults, present = [], set(new)
    growing = {tuple(line.split()[:2]): int(line.split()[2]) for line in new if line.split()[0] in GROWING}
    old_sizes = {line.split()[1]: int(line.split()[2]) for line in old if line.startswith("struct ")}
    old_fields = {line.split()[1] for line in old if line.startswith("field ")}
    for line in old:
        words = line.split()
        if words[0] in GROWING:
            if growing.get((words[0], words[1]), -1) < int(words[2]):
                faults.append(f"shrunk or gone: {line}")
        elif line not in present:
            faults.append(f"changed or gone: {line}")
    for line in new:
        words = line.split()
        if words[0] != "field" or words[1] in old_fields:
            continue
        struct = words[1].split(".")[0]
        if struct in old_sizes and int(words[2]) < old_sizes[struct]:
            faults.append(f"new field inside the frozen size: {line}")
    return faults


def check(include, golden):
    new = dump(include)
    return compare(golden, new) + reused_ids(new) + broken_rules(include)


def compile_headers(include, cc, standard):
    headers = Headers(include)
    cpp = standard.startswith("c++")
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "probe.cpp" if cpp else "probe.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(probe_source(headers))
        command = [cc, f"-std={standard}", *WARNINGS, "-I", include, "-c", source, "-o", os.path.join(folder, "probe.o")]
        result = subprocess.run(command, capture_output=True, text=True)
    return [] if result.returncode == 0 else [result.stderr.strip()]


# (file, text, replacement, whether the gate must object)
MUTATIONS = [
    ("base.h", "int64_t native_code;", "uint64_t native_code;", True),
    ("device.h", "  uint32_t numa_node;", "  uint32_t numa_nodes;", True),
    ("host.h", "uint32_t(BP_CALL *worker_count)(bp_host *host);", "", True),
    ("device.h", "#define BP_DEVICE_GPU 2u", "#define BP_DEVICE_GPU 5u", True),
    ("ops.def", "BP_OP(ADD, 0x0300, add, 1)", "BP_OP(ADD, 0x0301, add, 1)", True),
    ("ops.def", "BP_OP(WHERE, 0x0317, where, 1)",
     "BP_OP(WHERE, 0x0317, where, 1)\nBP_OP(LERP, 0x0317, lerp, 1)", True),
    ("types.def", "BP_TYPE(U8, 27, u8, 1, 1)\n", "", True),
    ("plugin.h", "  const char *version; /* the", "  const char *more;\n  const char *version; /* the", True),
    ("extension.h", "} bp_feature; ", "  const char *unit;\n} bp_feature; ", True),
    ("host.h", "typedef void(BP_CALL *bp_task_fn)(void *arg, uint32_t task);",
     "typedef void(BP_CALL *bp_task_fn)(void *arg, uint64_t task);", True),
    ("device.h", "  uint32_t max_rank; ", "  bp_error first;\n  uint32_t max_rank; ", True),
    ("base.h", "#define BP_ABI_VERSION BP_VERSION(1, 0)", "#define BP_ABI_VERSION BP_VERSION(1, 1)", False),
    ("host.h", "bp_host *host, int32_t level", "bp_host *host, int32_t severity", False),
    ("device.h", "} bp_device_info;", "  uint64_t clock_khz;\n} bp_device_info;", False),
    ("ops.def", "BP_OP(ADD, 0x0300, add, 1)", "BP_OP(ADD, 0x0300, add, 2)", False),
    ("codes.def", 'BP_CODE(E_NO_HARDWARE', 'BP_CODE(E_QUOTA, -15, "quota")\nBP_CODE(E_NO_HARDWARE', False),
]


def self_test(include):
    golden, faults = dump(include), []
    for file, text, replacement, objects in MUTATIONS:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(os.path.join(include, ABI_DIR), os.path.join(folder, ABI_DIR))
            path = os.path.join(folder, ABI_DIR, file)
            original = read(path)
            if text not in original:
                faults.append(f"{file} no longer has '{text}': bring MUTATIONS up to date")
                continue
            with open(path, "w", encoding="utf-8") as out:
                out.write(original.replace(text, replacement, 1).replace(
                    'BP_STATIC_ASSERT(sizeof(bp_hello) == 40 && sizeof(bp_hello_reply) == 40, "the handshake is frozen");',
                    ""))
            if bool(check(folder, golden)) != objects:
                faults.append(f"{'missed' if objects else 'refused'}: {file}: '{text}' -> '{replacement}'")
    return faults


def main(arguments):
    commands = {"dump": 1, "check": 2, "compile": 3, "self-test": 1}
    if len(arguments) < 2 or commands.get(arguments[0]) != len(arguments) - 1:
        print(__doc__, file=sys.stderr)
        return 2
    command, include, *rest = arguments
    if command == "dump":
        print("\n".join(dump(include)))
        return 0
    if command == "check":
        faults = check(include, read(rest[0]).splitlines())
    elif command == "compile":
        faults = compile_headers(include, *rest)
    else:
        faults = self_test(include)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
