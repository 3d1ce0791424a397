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
FIXTURES = pathlib.Path(os.environ["BACKPLANE_TEST_FIXTURES"])
FAKE = pathlib.Path(os.environ["BACKPLANE_TEST_FAKE"])
DOCS = pathlib.Path(os.environ["BACKPLANE_TEST_DOCS"])
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

    def environment(self, **more):
        """Only the scratch folder, and no trial processes; `more` adds variables, or takes away those that are None."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("BACKPLANE_", "MEMKIND_", "XDG_"))}
        environment.update({"HOME": self.folder / "home", "BACKPLANE_PLUGIN_PATH": self.plugins,
                            "BACKPLANE_PROBE": "off", "XDG_DATA_DIRS": self.folder / "share", **more})
        return {k: str(v) for k, v in environment.items() if v is not None}

    def run_program(self, *arguments, path=None, stdout=subprocess.PIPE, env=None, cwd=None):
        environment = self.environment(**{"BACKPLANE_PLUGIN_PATH": path or self.plugins, **(env or {})})
        return Outcome(subprocess.run([PROGRAM, *map(str, arguments)], env=environment, text=True, timeout=120,
                                      cwd=cwd, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE))

    def add_fixture(self, fixture, plugin_id, name=None, folder=None, **more):
        """Drops a fixture plugin in as NAME.so and NAME.json, whole at once, and returns their paths."""
        name, folder = name or fixture, folder or self.plugins
        library, manifest = folder / f"{name}.so", folder / f"{name}.json"
        shutil.copy(FIXTURES / f"{fixture}.so", f"{library}.new")
        os.replace(f"{library}.new", library)
        plugin = {"id": plugin_id, "library_path": library.name, **more}
        manifest.write_text(json.dumps({"file_format_version": "1.0", "plugin": plugin}))
        return library, manifest

    def add_toy(self, **more):
        return self.add_fixture("toy", "org.test.toy", **more)

    def configure(self, name, configuration):
        """Writes a configuration file of the user's."""
        folder = self.folder / "home/.config/backplane/conf.d"
        folder.mkdir(parents=True, exist_ok=True)
        if isinstance(configuration, dict):
            configuration = json.dumps({"file_format_version": "1.0", **configuration})
        (folder / name).write_text(configuration)
        return folder / name

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
