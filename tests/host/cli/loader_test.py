"""What the program tells of plugins, their manifests and the configuration."""
import json
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

from program import FIXTURES, MISSING, OK, PROBLEMS, PROGRAM, USAGE, ProgramTest

ESCAPE = "\x1b[31m\u009b31m"  # red, in seven and in eight bits


class LoaderTest(ProgramTest):
    def by_id(self, *arguments, **more):
        outcome = self.run_program(*arguments, "--json", **more)
        return {report["plugin"]: report for report in outcome.json()}

    def assert_prints(self, outcome, code, *texts):
        """Nothing on stderr, and the texts on stdout."""
        self.assertEqual((outcome.code, outcome.err), (code, ""), str(outcome))
        for text in texts:
            self.assertIn(text, outcome.out)


class Devices(LoaderTest):
    def test_what_would_be_loaded_is_told_without_running_it(self):
        self.add_toy()
        self.add_fixture("bad", "org.test.bad", name="constructor-abort")
        outcome = self.run_program("devices", "--no-load")
        self.assert_prints(outcome, OK, "org.test.bad  load      eligible")
        self.assertEqual(len(outcome.out.splitlines()), 3)
        self.assertEqual({r["outcome"] for r in self.by_id("devices", "--no-load").values()}, {"eligible"})

    def test_what_would_be_left_is_a_problem_if_it_is_broken(self):
        self.add_toy()
        (self.plugins / "broken.json").write_text("{")
        outcome = self.run_program("devices", "--no-load")
        self.assert_prints(outcome, PROBLEMS, "leave", "manifest.syntax")

    def test_no_candidate_is_no_decision(self):
        self.assert_fails(self.run_program("devices", "--no-load"), PROBLEMS, "no devices", str(self.plugins))
        outcome = self.run_program("devices", "--no-load", "--json")
        self.assertEqual((outcome.code, outcome.json()), (PROBLEMS, []))

    def test_the_search_path_in_order(self):
        self.add_toy()
        more = self.folder / "more"
        self.assert_prints(self.run_program("devices", "--search-path", "--plugin-path", more), OK,
                           "api", f"{more}", "not there", "env:BACKPLANE_PLUGIN_PATH", "a folder with 2 candidates")
        places = self.run_program("devices", "--search-path", "--plugin-path", more, "--json").json()
        self.assertEqual([place["source"] for place in places], ["api", "env:BACKPLANE_PLUGIN_PATH"])
        usual = self.run_program("devices", "--search-path", "--json", env={"BACKPLANE_PLUGIN_PATH": None}).json()
        self.assertIn(str(self.folder / "home/.config/backplane/plugins.d"), [place["path"] for place in usual])
        self.assertIn("beside-core", [place["source"] for place in usual])

    def test_a_device_that_was_asked_for_is_missing(self):
        self.add_toy()
        outcome = self.run_program("devices", env={"BACKPLANE_DEVICES": "toy0,gpu7"})
        self.assertEqual(outcome.code, MISSING, str(outcome))
        self.assertIn("gpu7", outcome.err)
        self.assertIn("toy0", outcome.out)

    def test_a_plugin_that_is_required_is_missing(self):
        self.add_toy()
        self.configure("a.json", {"plugins": {"org.test.absent": {"required": True}}})
        outcome = self.run_program("devices")
        self.assertEqual(outcome.code, MISSING, str(outcome))
        self.assertEqual(len(outcome.err.splitlines()), 1)
        self.assertIn("org.test.absent", outcome.err)

    def test_a_broken_configuration_is_one_line(self):
        self.add_toy()
        self.configure("a.json", "{")
        self.configure("b.json", "[]")
        for verb in ("devices", "plugins"):
            outcome = self.run_program(verb)
            self.assertEqual(outcome.code, OK, str(outcome))
            self.assertEqual(len(outcome.err.splitlines()), 1, str(outcome))
            self.assertIn("a.json:1:", outcome.err)
            self.assertIn("1 more", outcome.err)

    def test_the_rest_is_silence(self):
        self.add_toy()
        (self.plugins / "broken.json").write_text("{")
        self.assert_prints(self.run_program("devices"), OK, "toy0")

    def test_options_that_exclude_each_other(self):
        for pair in (("--watch", "--no-load"), ("--watch", "--search-path"), ("--no-load", "--search-path")):
            self.assert_fails(self.run_program("devices", *pair), USAGE, "excludes")


class Watch(LoaderTest):
    def watch(self, *arguments, first, **more):
        """Starts watching, and returns the process when it has said the first line."""
        self.process = subprocess.Popen([PROGRAM, "devices", "--watch", *arguments], text=True, bufsize=1,
                                        env=self.environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.stop)
        stream = self.process.stderr if first.startswith("backplane:") else self.process.stdout
        self.assertIn(first, stream.readline())

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        self.assertEqual((self.process.returncode, err), (0, ""))
        return out

    def test_a_plugin_dropped_as_two_files_is_shown_once(self):
        self.watch(first="backplane: no devices yet")
        shutil.copy(FIXTURES / "toy.so", self.plugins)
        self.add_toy()
        self.assertEqual(self.process.stdout.readline(), "+ toy0  org.test.toy:0  gpu  Toy device\n")
        self.assertEqual(self.end(), "")

    def test_a_folder_that_comes_later_is_seen(self):
        later = self.folder / "a/b"
        self.watch(first="! ", BACKPLANE_PLUGIN_PATH=later)
        self.assertIn("no devices yet", self.process.stderr.readline())
        later.mkdir(parents=True)
        self.add_toy(folder=later)
        self.assertIn("+ toy0", self.process.stdout.readline())
        self.assertEqual(self.end(signal.SIGTERM), "")

    def test_what_fails_is_told_and_a_device_once(self):
        self.add_toy()
        self.watch(first="+ toy0")
        broken = self.plugins / f"{ESCAPE}.json"
        broken.write_text("{")
        line = self.process.stdout.readline()
        self.assertTrue(line.startswith("! "), line)
        self.assertIn("correct the manifest", line)
        self.assertNotRegex(line, "[\x1b\x9b]")
        self.add_fixture("toy_cpu", "org.test.toy-cpu")
        self.assertIn("+ toy", self.process.stdout.readline())
        self.assertIn("+ toy", self.process.stdout.readline())
        self.assertEqual(self.end(), "")

    def test_a_replaced_library_wants_a_restart(self):
        self.add_toy()
        self.watch(first="+ toy0")
        self.add_toy()  # as other files
        self.assertIn("restart the program", self.process.stdout.readline())
        self.assertEqual(self.end(), "")

    def test_the_configuration_is_heeded(self):
        folder = self.folder / "dropped"
        folder.mkdir()
        self.add_toy(folder=folder)
        self.watch(first="backplane: no devices yet", BACKPLANE_PLUGIN_PATH=None, BACKPLANE_PLUGINS_SELECT="org.test.*")
        self.configure("a.json", {"plugin_dirs": [str(folder)]})
        self.assertIn("+ toy0", self.process.stdout.readline())
        self.configure("b.json", "{")
        self.assertIn("config.syntax", self.process.stdout.readline())
        self.end()

    def test_json_is_a_line_for_each_change(self):
        self.add_toy()
        self.watch("--json", first='{"device": {"name": "toy0"')
        (self.plugins / "broken.json").write_text("{")
        self.assertEqual(json.loads(self.process.stdout.readline())["plugin"]["code"], "manifest.syntax")
        self.end()

    def test_it_ends_when_nobody_reads(self):
        self.add_toy()
        self.watch(first="+ toy0")
        self.process.stdout.close()
        self.assertEqual(self.process.wait(timeout=60), 0)


class Doctor(LoaderTest):
    def test_the_whole_story(self):
        self.add_toy()
        (self.plugins / "broken.json").write_text("{")
        outcome = self.run_program("doctor")
        self.assert_prints(outcome, PROBLEMS, "ENVIRONMENT\n", "CONFIGURATION\n", "env:BACKPLANE_PROBE", "PLACES LOOKED AT",
                           "CANDIDATES\n", "DEVICES, BEST FIRST\n", "CONCLUSION\n  1 device, 1 candidate failed, 0 errors")
        self.assertNotIn("\n\n\n", outcome.out)
        whole = self.run_program("doctor", "--json")
        self.assertEqual(whole.code, PROBLEMS)
        self.assertEqual([c["code"] for c in whole.json()["candidates"]], ["manifest.syntax", "ok"])
        (self.plugins / "broken.json").unlink()
        self.assertEqual(self.run_program("doctor").code, OK)

    def test_a_broken_configuration_is_a_problem(self):
        self.add_toy()
        self.configure("a.json", "{")
        self.assert_prints(self.run_program("doctor"), PROBLEMS, "config.syntax", "1 error")
        self.assertEqual(self.run_program("doctor", "--json").json()["notices"][0]["code"], "config.syntax")

    def test_one_plugin_by_its_id_its_files_and_its_folder(self):
        library, manifest = self.add_toy()
        (self.plugins / "broken.json").write_text("{")
        for target in ("org.test.toy", library, manifest, "toy.so", "toy.json"):
            outcome = self.run_program("doctor", target)
            self.assert_prints(outcome, OK, f"{manifest}\n  plugin    org.test.toy 1.2.3\n  outcome   active [ok]")
            self.assertNotIn("broken.json", outcome.out)
        for folder in (self.plugins, f"{self.plugins}/"):
            self.assert_prints(self.run_program("doctor", folder), PROBLEMS, "org.test.toy", "broken.json")

    def test_the_library_of_a_disabled_plugin(self):
        library, manifest = self.add_toy()
        self.configure("a.json", {"plugins": {"org.test.toy": {"enabled": False}}})
        self.assert_prints(self.run_program("doctor", library), PROBLEMS, str(manifest), "skipped at filtered", "a.json")

    def test_a_file_outside_the_search_path(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        library, manifest = self.add_toy(folder=elsewhere)
        for target in (library, manifest, elsewhere):
            self.assert_prints(self.run_program("doctor", target), PROBLEMS, "active [ok]",
                               f"'{elsewhere}' is not among the places looked at; name it with --plugin-path")
        report, = self.run_program("doctor", library, "--json").json()
        self.assertIn("is not among the places", report["notes"][0])
        odd = library.rename(elsewhere / "toy.so.1")
        self.assert_prints(self.run_program("doctor", odd), PROBLEMS, "does not end in .json or .so")
        empty = self.folder / "empty"
        empty.mkdir()
        self.assert_fails(self.run_program("doctor", empty), PROBLEMS, "no file whose name ends in")

    def test_what_is_not_there(self):
        self.add_toy()
        self.assert_fails(self.run_program("doctor", "org.test.toi"), MISSING, "did you mean 'org.test.toy'")
        self.assert_fails(self.run_program("doctor", "no/such.so"), MISSING, "no file 'no/such.so'")
        self.assert_fails(self.run_program("doctor", ""), USAGE)

    def test_each_reason_says_where_and_what_to_do(self):
        (self.plugins / "a.json").write_text('{"file_format_version": "1.0",\n "plugin": {"ID": "x"}}')
        self.add_fixture("toy", "org.test.other", name="b")
        self.add_fixture("toy_no_entry", "org.test.toy", name="c")
        self.add_fixture("toy_missing_library", "org.test.toy", name="d")
        shutil.copy(FIXTURES / "toy.so", self.plugins / "e.so")
        for name, texts in {"a.json": ("a.json:2:", "correct the manifest"), "b.json": ("correct plugin.id",),
                            "c.json": ("bp_get_proc_address", "manifest check"),
                            "d.json": ("libfixture_unfound.so", "install the package"),
                            "e.so": ("no manifest names", "manifest new")}.items():
            self.assert_prints(self.run_program("doctor", name), PROBLEMS, *texts)

    def test_nothing_of_a_file_or_plugin_reaches_the_terminal_raw(self):
        self.add_toy(version=f"1{ESCAPE}")
        (self.plugins / f"a{ESCAPE}.json").write_text('{"file_format_version": "%s"}' % ESCAPE.replace("\x1b", "\\u001b"))
        self.configure(f"{ESCAPE}.json", {"plugins": {"org.test.toy": {"options": {ESCAPE: ESCAPE}}}})
        for arguments in (["plugins"], ["doctor"], ["devices", "--no-load"], ["config", "show", "--origin"],
                          ["config", "check"], ["manifest", "check", self.plugins / f"a{ESCAPE}.json"],
                          ["config", "variables"], ["doctor", "--bundle"], ["--log", "trace", "devices"],
                          ["devices", "--search-path"]):
            for options in ([], ["--json"]):
                outcome = self.run_program(*arguments, *options, env={"XDG_CACHE_HOME": ESCAPE})
                self.assertNotRegex(outcome.out + outcome.err, "[\x00-\x09\x0b-\x1f\x7f-\x9f]", str(arguments))


class Bundle(LoaderTest):
    SECTIONS = ["system", "environment", "configuration", "places", "candidates", "libraries", "notices", "devices"]

    def test_everything_but_secrets_and_the_home_folder(self):
        home = self.folder / "home/plugins"
        home.mkdir(parents=True)
        library, _ = self.add_toy(folder=home, options={"name": "x"})
        self.configure("a.json", {"plugins": {
            "org.test.toy": {"options": {"name": "hunter-two"}},
            "org.test.other": {"options": {"api_key": "hunter-two", "nested": {"Token": "s3cr3t-token"}}}}})
        outcome = self.run_program("doctor", "--bundle", path=home)
        self.assertEqual((outcome.code, outcome.err), (OK, ""), str(outcome))
        bundle = outcome.json()
        self.assertEqual(list(bundle), self.SECTIONS)
        for private in (str(self.folder / "home"), "hunter-two", "s3cr3t-token"):
            self.assertNotIn(private, outcome.out)
        self.assertEqual(bundle["libraries"][0]["path"], "~/plugins/toy.so")
        self.assertEqual(bundle["environment"]["variables"]["HOME"], "~")
        self.assertEqual(bundle["devices"][0]["name"], "toy0")
        self.assertIn("(redacted)", [value["value"] for value in bundle["configuration"]["values"]])

    def test_a_bundle_is_about_everything(self):
        self.assert_fails(self.run_program("doctor", "--bundle", "org.test.toy"), USAGE, "excludes")

    def test_a_bundle_of_nothing(self):
        outcome = self.run_program("doctor", "--bundle")
        self.assertEqual((outcome.code, list(outcome.json())), (OK, self.SECTIONS))


class Trial(LoaderTest):
    """Plugins are tried in a process of their own, and what is found is remembered."""

    PROBE = {"BACKPLANE_PROBE": "cached"}

    def test_a_crash_is_reported_and_remembered(self):
        self.add_fixture("toy_cpu", "org.test.toy-cpu")
        self.add_fixture("bad", "org.test.toy", name="open-segv")
        reports = self.by_id("plugins", env=self.PROBE)
        self.assertEqual(reports["org.test.toy-cpu"]["outcome"], "active")
        crashed = reports["org.test.toy"]
        self.assertEqual((crashed["code"], crashed["stage"], crashed["signal"]),
                         ("probe.crashed", "probe", signal.SIGSEGV))
        self.assertNotIn("earlier trial", crashed["message"])
        again = self.by_id("plugins", env=self.PROBE)["org.test.toy"]
        self.assertIn("earlier trial", again["message"])
        self.assertEqual(again["signal"], signal.SIGSEGV)
        self.assert_prints(self.run_program("devices", env=self.PROBE), OK, "org.test.toy-cpu:0")

    def test_the_doctor_names_stage_and_signal_and_tries_again(self):
        library, _ = self.add_fixture("bad", "org.test.toy", name="open-segv")
        for _ in range(2):
            told = self.run_program("doctor", "org.test.toy", env=self.PROBE)
        self.assert_prints(told, PROBLEMS, "stage 'open'", "SIGSEGV", "earlier trial", "--retry org.test.toy")
        again = self.run_program("doctor", "--retry", "org.test.toy", env=self.PROBE)
        self.assert_prints(again, PROBLEMS, "stage 'open'", "SIGSEGV")
        self.assertNotIn("earlier trial", again.out)

    def test_another_file_is_tried_anew(self):
        self.add_fixture("bad", "org.test.toy", name="open-segv")
        self.assertEqual(self.by_id("plugins", env=self.PROBE)["org.test.toy"]["code"], "probe.crashed")
        self.add_fixture("toy", "org.test.toy", name="open-segv")
        self.assertEqual(self.by_id("plugins", env=self.PROBE)["org.test.toy"]["outcome"], "active")


class Config(LoaderTest):
    def test_defaults(self):
        env = {"BACKPLANE_PROBE": None}
        self.assert_prints(self.run_program("config", "show", env=env), OK, "all defaults")
        self.assert_prints(self.run_program("config", "check", env=env), OK, "no configuration files",
                           str(self.folder / "home/.config/backplane/conf.d"), "nothing is wrong")
        self.assertEqual(self.run_program("config", "show", "--json", env=env).json(), {"files": [], "values": [], "notices": []})

    def test_every_value_and_where_it_comes_from(self):
        file = self.configure("a.json", {"plugins": {"org.test.toy": {"enabled": False}}, "trust": "strict"})
        shown = self.run_program("config", "show")
        self.assert_prints(shown, OK, "plugins.org.test.toy.enabled  false\n")
        self.assertNotIn(str(file), shown.out)
        self.assert_prints(self.run_program("config", "show", "--origin"), OK, f"{file}:1:")
        values = {v["key"]: v for v in self.run_program("config", "show", "--json").json()["values"]}
        self.assertEqual(values["trust"]["value"], "strict")
        self.assertEqual(values["trust"]["line"], 1)

    def test_what_is_wrong(self):
        good = self.configure("a.json", {"trust": "strict"})
        self.assert_prints(self.run_program("config", "check"), OK, f"used   {good}".replace("   ", " " * 3))
        self.configure("b.json", '{"file_format_version": "1.0", "trust": 7}')
        self.assert_prints(self.run_program("config", "check"), PROBLEMS, "b.json:1:", "broken", "[config.")
        outcome = self.run_program("config", "show")
        self.assertEqual(outcome.code, PROBLEMS)
        self.assertEqual(len(outcome.err.splitlines()), 1, str(outcome))

    def test_a_slip_in_a_variable(self):
        outcome = self.run_program("config", "check", env={"BACKPLANE_SAFE_MOD": "1"})
        self.assert_prints(outcome, OK, "did you mean 'BACKPLANE_SAFE_MODE'")

    def test_safe_mode_reads_nothing_and_says_so(self):
        self.configure("a.json", "{")
        self.assert_prints(self.run_program("config", "check", env={"BACKPLANE_SAFE_MODE": "1"}), OK,
                           "BACKPLANE_SAFE_MODE is on")

    def test_variables(self):
        outcome = self.run_program("config", "variables")
        self.assert_prints(outcome, OK, f"BACKPLANE_PLUGIN_PATH={self.plugins}\n", "BACKPLANE_DEVICES is not set\n")
        self.assertLessEqual(max(map(len, outcome.out.replace(str(self.folder), "").splitlines())), 100)
        variables = {v["name"]: v for v in self.run_program("config", "variables", "--json").json()}
        self.assertEqual(variables["BACKPLANE_DEVICES"]["value"], None)

    def test_usage(self):
        self.assert_fails(self.run_program("config"), USAGE, "show, check, variables")
        self.assert_fails(self.run_program("config", "shw"), USAGE, "did you mean 'show'")
        self.assert_fails(self.run_program("config", "show", "--orign"), USAGE, "did you mean '--origin'",
                          "backplane config show --help")
        self.assert_fails(self.run_program("config", "check", "more"), USAGE, "'more'")


class Manifest(LoaderTest):
    def setUp(self):
        super().setUp()
        shutil.copy(FIXTURES / "toy.so", self.plugins)
        self.toy = self.plugins / "toy.so"

    def test_a_new_manifest_is_good(self):
        outcome = self.run_program("manifest", "new", self.toy, "--id", "org.test.toy", "--pin")
        self.assertEqual((outcome.code, outcome.err), (OK, ""), str(outcome))
        manifest = outcome.json()["plugin"]
        self.assertEqual((manifest["id"], manifest["library_path"]), ("org.test.toy", "toy.so"))
        self.assertRegex(manifest["sha256"], "^[0-9a-f]{64}$")
        (self.plugins / "toy.json").write_text(outcome.out)
        self.assert_prints(self.run_program("manifest", "check", self.plugins / "toy.json"), OK, "(org.test.toy): ok")
        self.assert_prints(self.run_program("devices"), OK, "org.test.toy:0")

    def test_a_pin_holds(self):
        (self.plugins / "toy.json").write_text(
            self.run_program("manifest", "new", self.toy, "--id", "org.test.toy", "--pin").out)
        with open(self.toy, "ab") as file:
            file.write(b"more")
        self.assertEqual(self.by_id("plugins")["org.test.toy"]["stage"], "pin")
        self.assertEqual(self.run_program("manifest", "check", self.plugins / "toy.json").code, PROBLEMS)

    def test_an_id_of_the_file_s_name(self):
        self.assertEqual(self.run_program("manifest", "new", self.toy).json()["plugin"]["id"], "toy")

    def test_what_no_manifest_can_be_made_of(self):
        text = self.write("text.so", "hello")
        self.assert_fails(self.run_program("manifest", "new", text), PROBLEMS, str(text), "not an ELF file")
        self.assert_fails(self.run_program("manifest", "new", self.folder / "none.so"), MISSING, "none.so")
        self.assert_fails(self.run_program("manifest", "new", self.folder), PROBLEMS, "folder")
        self.assert_fails(self.run_program("manifest", "new", self.toy, "--id", "a b"), USAGE, "'a b'")
        self.assert_fails(self.run_program("manifest", "new"), USAGE, "backplane manifest new --help")

    def test_several_files_are_checked(self):
        _, good = self.add_toy()
        _, bad = self.add_fixture("toy_no_entry", "org.test.toy")
        outcome = self.run_program("manifest", "check", good, bad, self.toy)
        self.assert_prints(outcome, PROBLEMS, f"{good} (org.test.toy): ok\n", f"{bad} (org.test.toy): would not load",
                           "[lint.no-entry-point]", "[lint.exported-symbol]", "[library.no-manifest]")
        checks = self.run_program("manifest", "check", good, bad, "--json").json()
        self.assertEqual([check["ok"] for check in checks], [True, False])
        self.assert_prints(self.run_program("manifest", "check", good, self.folder / "none.json"), MISSING, "none.json")

    def test_the_place_of_the_slip(self):
        file = self.write("slip.json", '{"file_format_version": "1.0",\n "plugin": {"id": "a.b", "library_pth": "x.so"}}')
        self.assert_prints(self.run_program("manifest", "check", file), PROBLEMS, "slip.json:2:", "library_path")

    def test_schemas(self):
        plugin = self.run_program("manifest", "schema").json()
        self.assertEqual(plugin, self.run_program("manifest", "schema", "plugin").json())
        self.assertNotEqual(plugin, self.run_program("manifest", "schema", "config").json())
        self.assert_fails(self.run_program("manifest", "schema", "foo"), USAGE, "foo")


if __name__ == "__main__":
    unittest.main()
