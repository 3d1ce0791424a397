"""The commands of the guides print what the guides say, but for numbers, and widths that depend on paths."""
import json
import os
import re
import shutil
import subprocess
import unittest

import onnx_writer as onnx
from program import DOCS, FAKE, FIXTURES, PROGRAM, ProgramTest


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
    """A root folder of its own, with the program in the search path and a user's home."""

    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.home = self.root / "home/anna"
        (self.root / "bin").mkdir(parents=True)
        self.home.mkdir(parents=True)
        os.symlink(PROGRAM, self.root / "bin/backplane")

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

    def check(self, guide):
        expected = list(steps((DOCS / "guide" / guide).read_text()))
        self.assertGreater(len(expected), 10)
        printed = self.run_all([command for command, _ in expected])
        self.assertEqual(len(printed), len(expected))
        for (command, output), real in zip(expected, printed):
            with self.subTest(command):
                self.assertEqual(comparable(output), comparable(real))


class Plugins(Guide):
    def setUp(self):
        super().setUp()
        (self.root / "opt/plugins").mkdir(parents=True)
        shutil.copy(FIXTURES / "toy.so", self.home)
        shutil.copy(FIXTURES / "toy_cpu.so", self.home / "other.so")
        bad = (FIXTURES / "bad.so").read_bytes().replace(b"org.test.toy\0", b"org.test.bad\0")
        (self.home / "open-segv.so").write_bytes(bad)

    def test(self):
        self.check("plugins.md")


class Scheduler(Guide):
    FAULTS = {"two": {}, "lose": {"lose_at_call": 3}, "refuse": {"fail_at_call": 1, "fail_code": -3},
              "full": {"fail_allocate_at": 1, "fail_code": -6}, "hang": {"async": True, "hang_at_call": 1}}

    def setUp(self):
        super().setUp()
        for world, faults in self.FAULTS.items():
            manifest = json.loads((FAKE / "fake-two/fake.json").read_text())
            manifest["plugin"]["options"].update({"fault_device": 0, **faults})
            folder = self.root / "opt" / world
            folder.mkdir(parents=True)
            (folder / "fake.json").write_text(json.dumps(manifest))
        nodes = [onnx.node("Relu", ["x"], ["h"], "front"), onnx.node("Mul", ["h", "w"], ["s"], "scale"),
                 onnx.node("Neg", ["s"], ["n"], "flip"), onnx.node("Add", ["n", "h"], ["y"], "join")]
        (self.home / "model.onnx").write_bytes(onnx.model(
            nodes, [onnx.value_info("x", [1, 65536])], [onnx.value_info("y", [1, 65536])],
            constants=[onnx.tensor("w", (65536,), [0.5] * 65536)]))

    def test(self):
        self.check("scheduler.md")


if __name__ == "__main__":
    unittest.main()
