#!/usr/bin/env python3
"""Writes the wrong binaries beside this script: files that are named like a library and are none for this process.

  make_binaries.py           writes them
  make_binaries.py check     exit 1 if a file here is not what would be written

Each is as small as a reader needs to tell what it is. tests/core/registry/shared_object_test.cpp says what becomes of
each.
"""
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ET_EXEC, ET_DYN = 2, 3
EM_386, EM_S390, EM_X86_64, EM_AARCH64, EM_RISCV = 3, 22, 62, 183, 243
PT_LOAD, PT_DYNAMIC = 1, 2


def elf64(machine, order="<", file_type=ET_DYN, segments=None):
    """A header, a table of segments (all of the file, and a dynamic section of one DT_NULL) and that section."""
    dynamic_at = 64 + 2 * 56
    total = dynamic_at + 16
    if segments is None:
        segments = [(PT_LOAD, 5, 0, 0, 0, total, total, 0x1000),
                    (PT_DYNAMIC, 6, dynamic_at, dynamic_at, dynamic_at, 16, 16, 8)]
    ident = b"\x7fELF" + bytes([2, 1 if order == "<" else 2, 1]) + bytes(9)
    header = struct.pack(order + "HHIQQQIHHHHHH", file_type, machine, 1, 0, 64, 0, 0, 64, 56, len(segments), 0, 0, 0)
    table = b"".join(struct.pack(order + "IIQQQQQQ", *segment) for segment in segments)
    return ident + header + table + bytes(total - 64 - len(table))


def elf32():
    ident = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
    header = struct.pack("<HHIIIIIHHHHHH", ET_DYN, EM_386, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    return ident + header + struct.pack("<IIIIIIII", PT_LOAD, 0, 0, 0, 128, 128, 5, 0x1000) + bytes(44)


def windows():
    dos = b"MZ" + bytes(58) + struct.pack("<I", 64)
    return dos + b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 0, 0, 0, 0, 0, 0x2022) + bytes(40)


def macos():
    return struct.pack("<IIIIIIII", 0xFEEDFACF, 0x01000007, 3, 6, 0, 0, 0, 0) + bytes(96)


def archive():
    name, body = "nothing.o/", b"nothing\n"
    member = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(body):<10}`\n".encode()
    return b"!<arch>\n" + member + body


BINARIES = {
    "elf32.so": elf32(),
    "aarch64.so": elf64(EM_AARCH64),
    "x86-64.so": elf64(EM_X86_64),
    "riscv64.so": elf64(EM_RISCV),
    "big-endian.so": elf64(EM_S390, ">"),
    "program.so": elf64(EM_X86_64, file_type=ET_EXEC),
    "cut-off.so": elf64(EM_X86_64)[:100],
    "nothing-to-load.so": elf64(EM_X86_64, segments=[(0, 0, 0, 0, 0, 0, 0, 0)]),
    "windows.so": windows(),
    "macos.so": macos(),
    "archive.so": archive(),
    "linker-script.so": b"/* GNU ld script */\nINPUT ( libreal.so.1 AS_NEEDED ( libother.so.2 ) )\n",
    "manifest.so": b'{"file_format_version": "1.0", "plugin": {"id": "a", "library_path": "a.so"}}\n',
}


def main(arguments):
    if arguments not in ([], ["check"]):
        print(__doc__, file=sys.stderr)
        return 2
    wrong = []
    for name, content in BINARIES.items():
        path = os.path.join(HERE, name)
        if arguments:
            with open(path, "rb") as file:
                wrong += [name] if file.read() != content else []
        else:
            with open(path, "wb") as file:
                file.write(content)
    for name in wrong:
        print(f"{name} is not what this script writes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
