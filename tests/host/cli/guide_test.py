"""The commands of the guide print what the guide says, but for numbers, and widths that depend on paths."""
import os
import re
import shutil
import subprocess
import unittest

from program import DOCS, FIXTURES, PROGRAM, ProgramTest


def steps(text):
    """The commands of the blocks marked as console, each with the output below it."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = step.partition("\n")
            yield command, output


def comparable(text):
    for pattern, name in ((r"\b[0-9a-f]{64}\b", "HASH"), (r" +", " "), (r"\d+ [um]s\b", "TIME"), (r"\d+", "N")):
        text = re.sub(pattern, name, text)
    return text


class Guide(ProgramTest):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.home = self.root / "home/anna"
        (self.root / "opt/plugins").mkdir(parents=True)
        (self.root / "bin").mkdir()
        self.home.mkdir(parents=True)
        os.symlink(PROGRAM, self.root / "bin/backplane")
        shutil.copy(FIXTURES / "toy.so", self.home)
        shutil.copy(FIXTURES / "toy_cpu.so", self.home / "other.so")
        bad = (FIXTURES / "bad.so").read_bytes().replace(b"org.test.toy\0", b"org.test.bad\0")
        (self.home / "open-segv.so").write_bytes(bad)

    def rooted(self, command):
        return command.replace("/opt/", f"{self.root}/opt/")

    def run_all(self, commands):
        """The output of each, in one shell; what goes to stderr comes with it."""
        script = "exec 2>&1\n" + "".join(f"{self.rooted(command)}\necho '# end'\n" for command in commands)
        shell = subprocess.run(["sh", "-c", script], text=True, timeout=240, cwd=self.home, stdout=subprocess.PIPE,
                               env=self.environment(HOME=self.home, BACKPLANE_PLUGIN_PATH=None, BACKPLANE_PROBE=None,
                                                    PATH=f"{self.root}/bin:{os.environ['PATH']}"))
        outputs = shell.stdout.replace(str(self.root), "").split("# end\n")
        self.assertEqual((shell.returncode, outputs.pop()), (0, ""))
        return outputs

    def test_plugins(self):
        expected = list(steps((DOCS / "guide/plugins.md").read_text()))
        self.assertGreater(len(expected), 10)
        printed = self.run_all([command for command, _ in expected])
        self.assertEqual(len(printed), len(expected))
        for (command, output), real in zip(expected, printed):
            with self.subTest(command):
                self.assertEqual(comparable(output), comparable(real))


if __name__ == "__main__":
    unittest.main()
