"""The device hbm0 as a user meets it: with NUMA node 0 as high-bandwidth memory, without any, without libmemkind."""
import pathlib
import re
import unittest

import onnx_writer as onnx
from program import OK, PLUGINS, PROBLEMS, ProgramTest

PLUGIN = "org.backplane.cpu-hbm"
NODE = {"MEMKIND_HBW_NODES": "0"}
FILES = sorted(PLUGINS.glob("*backplane-cpu-hbm*"))


def node_bytes():
    text = pathlib.Path("/sys/devices/system/node/node0/meminfo").read_text()
    return int(re.search(r"MemTotal:\s+(\d+) kB", text).group(1)) * 1024


@unittest.skipUnless(FILES, "the plugin is not built: there is no memkind")
class HighBandwidthMemory(ProgramTest):
    def setUp(self):
        super().setUp()
        self.add_cpu()
        self.model = self.write("neg.onnx", onnx.model([onnx.node("Neg", ["x"], ["y"], "neg")],
                                                       [onnx.value_info("x", [64])], [onnx.value_info("y", [64])]))

    def devices(self, **variables):
        outcome = self.run_program("devices", "--json", env=variables)
        self.assertEqual((outcome.code, outcome.err), (OK, ""), str(outcome))
        return {device["name"]: device for device in outcome.json()}

    def run_model(self, *arguments):
        outcome = self.run_program("run", self.model, "--input", "x=random", "--json", *arguments, env=NODE)
        self.assertEqual(outcome.code, OK, str(outcome))
        return outcome.json()

    def test_devices_lists_it_with_true_sizes(self):
        devices = self.devices(**NODE)
        self.assertEqual(list(devices), ["hbm0", "cpu0"], "it comes first")
        self.assertEqual(devices["hbm0"]["memory_total"], min(node_bytes(), devices["cpu0"]["memory_total"]))
        self.assertLess(0, devices["hbm0"]["memory_free"])
        self.assertLessEqual(devices["hbm0"]["memory_free"], devices["hbm0"]["memory_total"])
        self.assertEqual(self.run_program("doctor", "cpu-hbm", env=NODE).code, OK)
        self.configure("50-cpu.json", {"plugins": {"org.backplane.cpu": {"priority": 1}}})
        self.assertEqual(list(self.devices(**NODE)), ["cpu0", "hbm0"])

    def test_the_nodes_can_come_from_the_configuration(self):
        self.configure("50-hbm.json", {"plugins": {PLUGIN: {"options": {"nodes": "0", "policy": "interleave"}}}})
        self.assertIn("NUMA node 0 (interleave)", self.devices()["hbm0"]["description"])

    def test_without_it_nothing_else_changes_and_doctor_says_what_to_set(self):
        with_plugin = self.devices()
        if "hbm0" in with_plugin:
            self.skipTest("this machine has high-bandwidth memory")
        outcome = self.run_program("doctor", "cpu-hbm")
        self.assertEqual(outcome.code, PROBLEMS, str(outcome))
        for text in (PLUGIN, "skipped", "open.no-hardware", "No such device", "option 'nodes'", "MEMKIND_HBW_NODES"):
            self.assertIn(text, outcome.out)
        self.assertEqual(self.run_program("doctor").code, OK, "it is no problem as long as nobody asks for it")
        for file in FILES:
            (self.plugins / file.name).unlink()
        without_plugin = self.devices()
        for device in (*with_plugin.values(), *without_plugin.values()):
            device.pop("memory_free")
        self.assertEqual(with_plugin, without_plugin)

    def test_without_libmemkind_the_package_is_named(self):
        # The same plugin, but for a library of another name, which is not there.
        for file in FILES:
            content = (self.plugins / file.name).read_bytes()
            (self.plugins / file.name).write_bytes(content.replace(b"libmemkind.so.0", b"libmemkinx.so.0"))
        self.assertEqual(set(self.devices(**NODE)), {"cpu0"})
        outcome = self.run_program("doctor", "cpu-hbm", env=NODE)
        self.assertEqual(outcome.code, PROBLEMS, str(outcome))
        for text in ("dlopen.missing-library", "libmemkinx.so.0", "apt install libmemkind0"):
            self.assertIn(text, outcome.out)

    def test_weights_and_work_go_where_they_are_put(self):
        self.assertEqual(self.run_model("--device", "cpu0,hbm0", "--weights", "hbm0")["copied_bytes"], 0)
        result = self.run_model("--device", "hbm0")
        self.assertEqual((result["copied_bytes"], result["incidents"]), (0, []))

    def test_what_has_no_room_runs_on_the_processor_and_is_reported(self):
        self.configure("50-hbm.json", {"plugins": {PLUGIN: {"options": {"limit_bytes": 1}}}})
        result = self.run_model("--device", "hbm0,cpu0")
        self.assertTrue(result["degraded"])
        self.assertEqual(len(result["incidents"]), 1, result)
        self.assertIn("hbm0", result["incidents"][0])
        alone = self.run_program("run", self.model, "--input", "x=random", "--device", "hbm0", env=NODE)
        self.assert_fails(alone, PROBLEMS, "the limit is 1")


if __name__ == "__main__":
    unittest.main()
