#!/usr/bin/env python3
"""Checks that clang-format would change nothing.

  check_format.py ROOT    lists the sources it would change; exit 1 if there are any, 77 if it is not installed
"""
import shutil
import subprocess
import sys

from check_layers import sources

SKIPPED = 77


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    tool = shutil.which("clang-format") or shutil.which("clang-format-14")
    if tool is None:
        print("clang-format is not installed")
        return SKIPPED
    root = arguments[0]
    result = subprocess.run([tool, "--dry-run", "--Werror", "--ferror-limit=1", *sources(root)], cwd=root,
                            capture_output=True, text=True)
    print(result.stderr, end="")
    return 1 if result.returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
