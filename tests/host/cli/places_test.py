"""Where the program looks for its own parts, and what it says of variables, configuration and manifests together."""
import json
import pathlib
import shutil
import subprocess
import unittest

from program import OK, PLUGINS, PROBLEMS, PROGRAM, Outcome, ProgramTest

LAYOUT = PLUGINS.parent.parent.parent  # bin and lib lie below it


class Places(ProgramTest):
    def run_as_installed(self, *command, folder=None, **variables):
        """With no variable that says where plugins are, and no configuration."""
        environment = {"PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": str(self.folder / "config"),
                       "XDG_DATA_HOME": str(self.folder / "data"), "XDG_DATA_DIRS": str(self.folder / "share"),
                       "XDG_CACHE_HOME": str(self.folder / "cache"), "BACKPLANE_PROBE": "off", **variables}
        return Outcome(subprocess.run([*map(str, command)], cwd=folder, env=environment, text=True, timeout=120,
                                      stdin=subprocess.DEVNULL, capture_output=True))

    def selectors(self, outcome):
        self.assertEqual(outcome.code, OK, str(outcome))
        return [device["selector"] for device in outcome.json()]

    def test_working_directories_and_links_do_not_matter(self):
        wanted = self.selectors(self.run_as_installed(PROGRAM, "devices", "--json"))
        self.assertIn("org.backplane.cpu:0", wanted)
        planted = self.folder / "backplane" / "plugins.d"
        planted.mkdir(parents=True)
        (planted / "planted.json").write_text("{")
        for folder in ("/", self.folder, planted, PLUGINS):
            outcome = self.run_as_installed(PROGRAM, "devices", "--json", folder=folder)
            self.assertEqual(self.selectors(outcome), wanted, folder)
        to_program, to_layout = self.folder / "to-program", self.folder / "to-layout"
        to_program.symlink_to(PROGRAM)
        to_layout.symlink_to(LAYOUT)
        for program in (to_program, to_layout / "bin" / pathlib.Path(PROGRAM).name):
            outcome = self.run_as_installed(program, "devices", "--json", folder=self.folder)
            self.assertEqual(self.selectors(outcome), wanted, program)
        gone = self.folder / "gone"
        gone.mkdir()
        outcome = self.run_as_installed("/bin/sh", "-c", f'rmdir "$PWD"; exec "{PROGRAM}" devices --json', folder=gone)
        self.assertEqual(self.selectors(outcome), wanted)

    def test_without_its_helper_plugins_are_loaded_and_it_says_so(self):
        apart = self.folder / "apart"
        apart.mkdir()
        for library in (LAYOUT / "lib").glob("libbackplane.so*"):
            shutil.copy(library, apart)
        self.add_cpu()
        outcome = self.run_as_installed(PROGRAM, "doctor", LD_LIBRARY_PATH=str(apart), BACKPLANE_PROBE="always",
                                        BACKPLANE_PLUGIN_PATH=str(self.plugins))
        self.assertIn("probe.helper-missing", outcome.out, str(outcome))
        self.assertIn("active", outcome.out)

    def test_doctor_judges_variables_configuration_and_manifests_together(self):
        self.add_cpu()
        (self.plugins / "broken.json").write_text("{")
        conf = self.folder / "config" / "backplane" / "conf.d"
        conf.mkdir(parents=True)
        (conf / "50-a.json").write_text(json.dumps(
            {"file_format_version": "1.0", "plugins": {"org.example.gone": {"required": True}}}))
        (conf / "60-b.json").write_text("nonsense")
        outcome = self.run_as_installed(PROGRAM, "doctor", BACKPLANE_PLUGIN_PATH=str(self.plugins),
                                        BACKPLANE_PLUGINS_DISABLE="*-nothing", BACKPLANE_DEVICE="cpu0")
        self.assertEqual(outcome.code, PROBLEMS, str(outcome))
        for text in ("manifest.syntax", "plugin.required", "config.syntax", "filter.no-match", "env.unknown",
                     "BACKPLANE_DEVICES", "broken.json", "60-b.json"):
            self.assertIn(text, outcome.out)


if __name__ == "__main__":
    unittest.main()
