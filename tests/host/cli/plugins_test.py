"""Plugins dropped into a folder, taken away, and broken: `backplane devices` and `backplane plugins`."""
import unittest

from program import MISSING, OK, PROBLEMS, USAGE, ProgramTest

MANIFEST = """{
  "file_format_version": "1.0",
  "plugin": {"id": "org.example.broken", "library_path": "libbroken.so"}
}
"""


class Plugins(ProgramTest):
    def devices(self):
        outcome = self.run_program("devices", "--json")
        found = outcome.json()
        for device in found:
            device.pop("memory_free")  # changes from one moment to the next
        return outcome, found

    def test_no_plugins_is_one_line_that_says_where_they_were_looked_for(self):
        self.assert_fails(self.run_program("devices"), PROBLEMS, "no devices", str(self.plugins))
        outcome, found = self.devices()
        self.assertEqual((outcome.code, found), (PROBLEMS, []))

    def test_a_dropped_plugin_appears_and_a_removed_one_vanishes(self):
        files = self.add_cpu()
        outcome, found = self.devices()
        self.assertEqual(outcome.code, OK, str(outcome))
        self.assertEqual([d["plugin"] for d in found], ["org.backplane.cpu"])
        self.assertEqual(found[0]["type"], "cpu")
        table = self.run_program("devices")
        self.assertEqual(table.code, OK)
        self.assertIn(found[0]["selector"], table.out)
        self.assertNotIn("\x1b", table.out)
        for file in files:
            (self.plugins / file).unlink()
        outcome, found = self.devices()
        self.assertEqual((outcome.code, found), (PROBLEMS, []))

    def test_a_broken_plugin_changes_nothing_else_and_is_explained(self):
        files = self.add_cpu()
        _, before = self.devices()
        library = next(f for f in files if f.endswith(".so"))
        (self.plugins / "broken.json").write_text(MANIFEST)
        (self.plugins / "libbroken.so").write_bytes((self.plugins / library).read_bytes()[:1000])
        (self.plugins / "syntax.json").write_text('{"file_format_version": "1.0",}')
        (self.plugins / "text.so").write_text("this is no library")
        outcome, after = self.devices()
        self.assertEqual(outcome.code, OK, str(outcome))
        self.assertEqual(after, before)

        listed = self.run_program("plugins", "--json")
        self.assertEqual(listed.code, PROBLEMS)
        reports = {report["requested"].rsplit("/", 1)[-1]: report for report in listed.json()}
        self.assertEqual(reports["broken.json"]["outcome"], "failed")
        self.assertEqual(reports["broken.json"]["code"], "elf.truncated")
        self.assertEqual(reports["syntax.json"]["code"], "manifest.syntax")
        self.assertEqual(reports["syntax.json"]["line"], 1)
        self.assertNotEqual(reports["text.so"]["outcome"], "active")
        active = [report for report in listed.json() if report["outcome"] == "active"]
        self.assertEqual([report["plugin"] for report in active], ["org.backplane.cpu"])

        text = self.run_program("plugins")
        self.assertEqual(text.code, PROBLEMS)
        self.assertIn("elf.truncated", text.out)
        self.assertEqual(len(text.out.splitlines()), 1 + len(listed.json()), "a heading, and one line a candidate")

    def test_hostile_names_neither_break_lines_nor_reach_the_terminal(self):
        self.add_cpu()
        (self.plugins / "red\x1b[31m\nname.json").write_text("{")
        (self.plugins / "long.json").write_text(MANIFEST.replace("org.example.broken", "o" * 100000))
        listed = self.run_program("plugins", "--json").json()
        text = self.run_program("plugins")
        self.assertNotIn("\x1b", text.out)
        self.assertEqual(len(text.out.splitlines()), 1 + len(listed))
        self.assertLess(max(map(len, text.out.splitlines())), 1000)

    def test_a_requested_path_that_fails_is_told_at_once(self):
        self.add_cpu()
        missing = self.folder / "none"
        outcome = self.run_program("--plugin-path", missing, "devices")
        self.assertEqual(outcome.code, OK, str(outcome))
        self.assertEqual(len(outcome.err.splitlines()), 1, str(outcome))
        self.assertIn(str(missing), outcome.err)

    def test_a_variable_without_folders_is_named(self):
        self.assert_fails(self.run_program("devices", path=":::"), PROBLEMS, "BACKPLANE_PLUGIN_PATH")

    def test_lost_output_is_a_failure(self):
        self.add_cpu()
        for arguments in (["devices"], ["plugins", "--json"], ["--help"]):
            with open("/dev/full", "w") as full:
                outcome = self.run_program(*arguments, stdout=full)
            self.assertEqual(outcome.code, PROBLEMS, f"{arguments}: {outcome}")
            self.assertIn("cannot write to the standard output: No space left", outcome.err)

    def test_only_broken_plugins_point_to_the_explanation(self):
        (self.plugins / "syntax.json").write_text("{")
        self.assert_fails(self.run_program("devices"), PROBLEMS, "backplane plugins")

    def test_a_plugin_path_may_be_named_before_and_after_the_verb(self):
        self.add_cpu()
        empty = self.folder / "empty"
        empty.mkdir()
        for arguments in (["--plugin-path", self.plugins, "devices"], ["devices", "--plugin-path", self.plugins]):
            outcome = self.run_program(*arguments, path=empty)
            self.assertEqual(outcome.code, OK, str(outcome))


class Usage(ProgramTest):
    def test_wrong_command_lines(self):
        for arguments in ([], ["fly"], ["devices", "--fly"], ["run"], ["plan", "x.onnx", "--format", "xml"],
                          ["run", "x.onnx", "--repeat", "0"], ["run", "x.onnx", "--atol", "-1"],
                          ["run", "x.onnx", "--atol", "nan"], ["run", "x.onnx", "--rtol", "inf"],
                          ["run", "x.onnx", "--compare", ""], ["run", "x.onnx", "--output", ""],
                          ["run", "x.onnx", "--device", ""], ["--plugin-path", "", "devices"],
                          ["--log", "loud", "devices"]):
            outcome = self.run_program(*arguments)
            self.assert_fails(outcome, USAGE)

    def test_an_unknown_verb_is_named_and_the_known_ones_are_listed(self):
        self.assert_fails(self.run_program("device"), USAGE, "'device'", "did you mean 'devices'", "plugins, doctor, config, manifest, plan, run")

    def test_help_and_version(self):
        for arguments in (["--help"], ["run", "--help"], ["--version"]):
            outcome = self.run_program(*arguments)
            self.assertEqual(outcome.code, OK, str(outcome))
            self.assertIn("backplane", outcome.out)

    def test_a_device_that_is_not_there(self):
        self.add_cpu()
        self.assert_fails(self.run_program("run", "x.onnx", "--device", "gpu7"), MISSING, "gpu7", "cpu0")

    def test_log_lines_go_to_stderr_only(self):
        self.add_cpu()
        outcome = self.run_program("--log", "trace", "devices", "--json")
        self.assertEqual(outcome.code, OK, str(outcome))
        outcome.json()
        self.assertNotEqual(outcome.err, "")


if __name__ == "__main__":
    unittest.main()
