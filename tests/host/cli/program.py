"""The program under test and folders of plugins for it."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["BACKPLANE_TEST_PROGRAM"]
PLUGINS = pathlib.Path(os.environ["BACKPLANE_TEST_PLUGINS"])
FAKE = pathlib.Path(os.environ["BACKPLANE_TEST_FAKE"])
DATA = pathlib.Path(os.environ["BACKPLANE_TEST_DATA"])

OK, PROBLEMS, USAGE, MISSING = 0, 1, 2, 3


class Outcome:
    def __init__(self, process):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr

    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}--- stderr\n{self.err}"


class ProgramTest(unittest.TestCase):
    """A test with a scratch folder and an empty plugin folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="backplane-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.plugins = self.folder / "plugins.d"
        self.plugins.mkdir()

    def run_program(self, *arguments, path=None, stdout=subprocess.PIPE):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("BACKPLANE_")}
        environment["BACKPLANE_PLUGIN_PATH"] = str(path or self.plugins)
        return Outcome(subprocess.run([PROGRAM, *map(str, arguments)], env=environment, text=True, timeout=120,
                                      stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE))

    def add_cpu(self):
        """Drops the CPU plugin in, and returns the names of its files."""
        files = sorted(f for f in PLUGINS.iterdir() if "backplane-cpu" in f.name)
        self.assertTrue(files, f"no CPU plugin in {PLUGINS}")
        for file in files:
            shutil.copy(file, self.plugins)
        return [file.name for file in files]

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def assert_fails(self, outcome, code, *texts):
        """One line on stderr, with the texts in it, and nothing on stdout."""
        self.assertEqual(outcome.code, code, str(outcome))
        lines = outcome.err.splitlines()
        self.assertEqual(len(lines), 1, str(outcome))
        self.assertTrue(lines[0].startswith("backplane: "), str(outcome))
        for text in texts:
            self.assertIn(text, lines[0])
        self.assertEqual(outcome.out, "")
