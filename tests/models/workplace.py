"""What the checks of real models share: the program, the models, arrays in files, and skipping."""
import ast
import json
import os
import pathlib
import subprocess
import sys

PROGRAM = os.environ["BACKPLANE_TEST_PROGRAM"]
PLUGINS = os.environ["BACKPLANE_TEST_PLUGINS"]
FAKE = os.environ["BACKPLANE_TEST_FAKE"]
MODELS = pathlib.Path(os.environ["BACKPLANE_TEST_MODELS"])
DATA = pathlib.Path(os.environ["BACKPLANE_TEST_DATA"])

SKIPPED = 77


def expect(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def find_model(file):
    path = MODELS / file
    if not path.exists():
        print(f"skipped: there is no {path}; run tools/fetch-models")
        sys.exit(SKIPPED)
    return path


def run(arguments, plugins=PLUGINS, **variables):
    """Runs a program, which has to succeed, and returns what it printed."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("BACKPLANE_", "MEMKIND_"))}
    environment.update({"BACKPLANE_PLUGIN_PATH": plugins, **variables})
    result = subprocess.run([str(a) for a in arguments], env=environment, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(result.returncode == 0, f"{arguments} exited with {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def run_json(arguments, plugins=PLUGINS, **variables):
    return json.loads(run([*arguments, "--json"], plugins, **variables))


class Array:
    """An array as bytes, which is all that copying whole rows needs."""

    def __init__(self, descr, shape, data):
        self.descr, self.shape, self.data = descr, tuple(shape), data

    @staticmethod
    def read(path):
        content = path.read_bytes()
        end = 10 + int.from_bytes(content[8:10], "little")
        header = ast.literal_eval(content[10:end].decode())
        return Array(header["descr"], header["shape"], content[end:])

    def write(self, path):
        header = f"{{'descr': '{self.descr}', 'fortran_order': False, 'shape': {self.shape!r}, }}\n".encode()
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + self.data)

    def doubled(self, axis):
        """The array twice, one after the other along an axis."""
        rows = 1
        for extent in self.shape[:axis]:
            rows *= extent
        size = len(self.data) // rows
        pieces = [self.data[i * size:(i + 1) * size] * 2 for i in range(rows)]
        shape = [2 * e if i == axis else e for i, e in enumerate(self.shape)]
        return Array(self.descr, shape, b"".join(pieces))
