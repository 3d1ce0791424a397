"""`backplane run` and `backplane plan`: values, files, comparisons, and every bad input."""
import json
import unittest
from xml.etree import ElementTree

import onnx_writer as onnx
from program import DATA, FAKE, MISSING, OK, PROBLEMS, USAGE, ProgramTest

WORLD = FAKE / "fake-two"


def relu_model():
    return onnx.model([onnx.node("Relu", ["x"], ["h"], "first"), onnx.node("Neg", ["h"], ["y"], "second")],
                      [onnx.value_info("x", ["N", 2])], [onnx.value_info("y", ["N", 2])])


class Models(ProgramTest):
    def setUp(self):
        super().setUp()
        self.model = self.write("relu.onnx", relu_model())

    def run_world(self, *arguments):
        return self.run_program(*arguments, path=WORLD)


class Run(Models):
    def outputs(self, *arguments):
        folder = self.folder / "out"
        outcome = self.run_world("run", self.model, "--output", folder, *arguments)
        self.assertEqual(outcome.code, OK, str(outcome))
        return onnx.read_npy((folder / "out-y.npy").read_bytes())

    def test_numbers_and_files_as_inputs(self):
        self.assertEqual(self.outputs("--input", "x=[[1, -2], [3, 0.5]]"), [-1, 0, -3, -0.5])
        values = self.write("x.npy", onnx.npy([4, -4], (1, 2)))
        self.assertEqual(self.outputs("--input", f"x=@{values}"), [-4, 0])
        self.assertEqual(self.outputs("--input", "x=shape:1,2"), [0, 0])
        self.assertEqual(self.outputs("--input", "x=zeros", "--shape", "x=1,2"), [0, 0])
        first = self.outputs("--input", "x=random:2,2")
        self.assertEqual(first, self.outputs("--input", "x=random", "--shape", "x=2,2"))
        self.assertEqual(len(set(first)), 4)

    def test_strings_are_given_and_shown(self):
        model = self.write("strings.onnx", onnx.model([onnx.node("StringNormalizer", ["s"], ["y"])],
                                                      [onnx.value_info("s", ["N"], onnx.STRING)],
                                                      [onnx.value_info("y", ["N"], onnx.STRING)]))
        folder = self.folder / "out"
        outcome = self.run_world("run", model, "--input", 's=["Monday", "Tuesday"]', "--output", folder)
        self.assertEqual(outcome.code, OK, str(outcome))
        self.assertIn('fixed by its value: s = ["Monday", "Tuesday"]', outcome.out)
        self.assertEqual(json.loads((folder / "out-y.json").read_text()), ["Monday", "Tuesday"])
        (folder / "in-s.json").write_text('["Monday", "Friday"]')
        again = self.run_world("run", model, "--compare", folder, "--json")
        self.assertEqual(again.code, PROBLEMS, str(again))
        self.assertEqual(again.json()["outputs"][0]["values"], ["Monday", "Friday"])
        self.assertIn("Tuesday", again.json()["comparisons"][0]["fault"])
        self.assertIn("=@file.json", self.run_world("run", model).err)
        for value in ("[1]", "Monday", "@x.npy"):
            self.assertEqual(self.run_world("run", model, "--input", f"s={value}").code, USAGE, value)

    def test_elements_of_a_sequence(self):
        model = self.write("sequence.onnx", onnx.model([onnx.node("SequenceErase", ["s"], ["y"])],
                                                       [onnx.sequence_info("s", [1])], [onnx.sequence_info("y", [1])]))
        outcome = self.run_world("run", model, "--input", "s[0]=[7]", "--input", "s[1]=[8]", "--json")
        self.assertEqual(outcome.code, OK, str(outcome))
        self.assertEqual([(o["name"], o["max"]) for o in outcome.json()["outputs"]], [("y[0]", 7)])
        self.assertEqual(self.run_world("run", model, "--input", "t[0]=[7]").code, PROBLEMS)

    def test_nodes_can_be_pinned_to_devices(self):
        devices = [d["name"] for d in self.run_world("devices", "--json").json()]
        self.assertEqual(len(devices), 2)
        pins = ["--pin", f"first={devices[1]}", "--pin", f"1={devices[0]}"]
        plan = self.run_world("plan", self.model, "--shape", "x=1,2", "--json", *pins)
        self.assertEqual(plan.code, OK, str(plan))
        self.assertEqual([(n["device"], n["cause"]) for n in plan.json()["nodes"]],
                         [(devices[1], "pin"), (devices[0], "pin")])
        self.assertEqual(self.outputs("--input", "x=[[1, -2]]", *pins), [-1, 0])
        outcome = self.run_world("run", self.model, "--input", "x=[[1, -2]]", "--json", *pins)
        self.assertEqual(outcome.json()["splits"], 2)

    def test_summary(self):
        outcome = self.run_world("run", self.model, "--input", "x=[[1, -2]]", "--repeat", "3")
        self.assertEqual(outcome.code, OK, str(outcome))
        self.assertIn("over 3 runs", outcome.out)
        self.assertIn("2 nodes, 1 split, 0 copies of", outcome.out)
        self.assertIn("f32 [1, 2]", outcome.out)
        result = self.run_world("run", self.model, "--input", "x=[[1, -2]]", "--repeat", "3", "--json").json()
        self.assertEqual(result["runs"], 3)
        self.assertEqual([(o["name"], o["shape"], o["min"], o["max"]) for o in result["outputs"]],
                         [("y", [1, 2], -1, 0)])

    def test_plan_as_a_table(self):
        outcome = self.run_world("plan", self.model, "--shape", "x=1,2")
        self.assertEqual(outcome.code, OK, str(outcome))
        for text in ("SPLIT", "POOL", "PEAK", "BOUND", "CAUSE", "WHY", "relu", "first", "mode mincomm", "arena", "ports"):
            self.assertIn(text, outcome.out)

    def test_costs_are_measured_once(self):
        file = self.folder / "costs.json"
        plan = ["plan", self.model, "--shape", "x=1,2", "--mode", "cost", "--costs", file]
        self.assertEqual(self.run_world(*plan).code, OK)
        measured = file.read_text()
        self.assertEqual(len(json.loads(measured)["devices"]), 2)
        self.assertEqual(self.run_world(*plan).code, OK)
        self.assertEqual(file.read_text(), measured)
        file.write_text("{}")
        outcome = self.run_world(*plan)
        self.assertEqual(outcome.code, PROBLEMS, str(outcome))
        self.assertIn("costs.json:1:1", outcome.err)
        self.assertEqual(file.read_text(), "{}")

    def test_plan_as_a_page(self):
        names = ["first", '<&"\'>', "third", "fourth"]
        tensors = ["x", *(f"t {name}" for name in names[:-1]), "y"]
        nodes = [onnx.node("Neg", [tensors[i]], [tensors[i + 1]], name) for i, name in enumerate(names)]
        model = self.write("odd <names>.onnx", onnx.model(nodes, [onnx.value_info("x", [8, 4])],
                                                          [onnx.value_info("y", [8, 4])]))
        for more in ([], ["--no-reuse"], ["--pin", f"third={self.run_world('devices', '--json').json()[1]['name']}"]):
            plan = self.run_world("plan", model, "--json", *more).json()
            outcome = self.run_world("plan", model, "--format", "html", *more)
            self.assertEqual(outcome.code, OK, str(outcome))
            page = ElementTree.fromstring(outcome.out)  # fails if it is not well-formed
            drawn = [r for r in page.iter("{http://www.w3.org/2000/svg}rect") if "tensor" in r.get("class")]
            residences = [r for r in plan["residences"] if r["pool"] is not None]
            self.assertEqual(sorted(r[0].text.split(", in place")[0].rsplit(": ", 1)[0] for r in drawn),
                             sorted(r["tensor"] for r in residences))
            self.assertTrue(all("128 B at " in r[0].text for r in drawn), outcome.out)
            taken = [r for r in drawn if r.get("class") == "tensor taken"]
            self.assertEqual(len(taken), sum(r["in_place_of"] is not None for r in residences))
            self.assertEqual(len(list(page.iter("{http://www.w3.org/1999/xhtml}tr"))), len(plan["splits"]) + 1)
            self.assertEqual(len(list(page.iter("{http://www.w3.org/2000/svg}svg"))),
                             sum(len(p["chunk_bytes"]) for p in plan["pools"]))
            for outside in ("src=", "href=", "<script", "url("):
                self.assertNotIn(outside, outcome.out)

    def test_plan_says_why(self):
        first, second = (d["name"] for d in self.run_world("devices", "--json").json())
        pin = ["--pin", f"first={second}"]
        table = self.run_world("plan", self.model, "--shape", "x=1,2", *pin)
        self.assertIn(f"on {second}, where it is pinned", table.out)
        plan = self.run_world("plan", self.model, "--shape", "x=1,2", "--json", *pin).json()
        self.assertEqual(plan["nodes"][0]["why"], f"on {second}, where it is pinned")
        self.assertEqual(plan["order"], [0, 1])
        self.assertEqual(sum(s["node_count"] for s in plan["splits"]), 2)
        self.assertEqual(len(plan["tasks"]), len(plan["splits"]) + len(plan["copies"]))
        for key in ("mode", "residences", "pools", "sequential"):
            self.assertIn(key, plan)

    def test_modes(self):
        for mode in ("greedy", "mincomm"):
            plan = self.run_world("plan", self.model, "--shape", "x=1,2", "--json", "--mode", mode)
            self.assertEqual(plan.json()["mode"], mode, str(plan))
            self.assertEqual(self.outputs("--input", "x=[[1, -2]]", "--mode", mode), [-1, 0])

    def test_weights_pull_their_readers(self):
        model = self.write("add.onnx", onnx.model(
            [onnx.node("Add", ["x", "w"], ["y"], "sum")], [onnx.value_info("x", [2])], [onnx.value_info("y", [2])],
            constants=[onnx.tensor("w", (2,), [10, 20])]))
        for device in (d["name"] for d in self.run_world("devices", "--json").json()):
            for option in (["--location", f"w={device}"], ["--weights", device]):
                plan = self.run_world("plan", model, "--json", *option)
                self.assertEqual(plan.code, OK, str(plan))
                homes = [r["device"] for r in plan.json()["residences"] if r["tensor"].startswith("w:") and r["home"]]
                self.assertEqual(homes, [device], str(plan))

    def test_no_reuse_takes_more_memory(self):
        nodes = [onnx.node("Neg", [f"t{i}"], [f"t{i + 1}"], f"n{i}") for i in range(8)]
        model = self.write("chain.onnx", onnx.model(nodes, [onnx.value_info("t0", [64])],
                                                    [onnx.value_info("t8", [64])]))

        def peak(*arguments):
            plan = self.run_world("plan", model, "--json", *arguments)
            return sum(p["peak_bytes"] for p in plan.json()["pools"])
        self.assertGreater(peak("--no-reuse"), peak())

    def test_runs_in_flight(self):
        arguments = ["run", self.model, "--input", "x=[[1, -2]]", "--repeat", "9", "--pipeline", "3"]
        outcome = self.run_world(*arguments)
        self.assertEqual(outcome.code, OK, str(outcome))
        self.assertRegex(outcome.out, r"pipeline: 3 in flight, [0-9.]+ runs/s")
        result = self.run_world(*arguments, "--json", "--timeout", "60", "--check-races").json()
        self.assertEqual((result["runs"], result["in_flight"], result["degraded"]), (9, 3, False))
        self.assertEqual([(o["min"], o["max"]) for o in result["outputs"]], [(-1, 0)])

    def test_memory_can_be_debugged(self):
        self.assertEqual(self.outputs("--input", "x=[[1, -2]]", "--debug-memory", "--repeat", "3"), [-1, 0])

    def test_traces(self):
        second = self.run_world("devices", "--json").json()[1]["name"]
        file = self.folder / "trace.json"
        outcome = self.run_world("run", self.model, "--input", "x=[[1, -2]]", "--pin", f"first={second}", "--repeat", "2",
                                 "--trace", file)
        self.assertEqual(outcome.code, OK, str(outcome))
        events = json.loads(file.read_text())["traceEvents"]
        self.assertEqual([e["args"]["name"] for e in events if e["name"] == "process_name"], ["fake0", "fake1"])
        plan = self.run_world("plan", self.model, "--shape", "x=1,2", "--pin", f"first={second}", "--json").json()
        slices = [e for e in events if e["ph"] == "X"]
        self.assertEqual(len(slices), 3 * len(plan["tasks"]), "the warm-up and two more")
        self.assertEqual(sum(e["args"]["bytes"] for e in slices if e["cat"] == "copy"), 3 * plan["copy_bytes"])
        self.assertEqual(len({e["args"]["run"] for e in slices}), 3)


class Compare(Models):
    def compare(self, values, *arguments, shape=(1, 2)):
        golden = self.folder / "golden"
        golden.mkdir(exist_ok=True)
        (golden / "in-x.npy").write_bytes(onnx.npy([1, float("nan")], (1, 2)))
        if values is not None:
            (golden / "out-y.npy").write_bytes(onnx.npy(values, shape))
        return self.run_world("run", self.model, "--compare", golden, *arguments)

    def test_what_fits(self):
        outcome = self.compare([-1.00005, float("nan")])
        self.assertEqual(outcome.code, OK, str(outcome))
        self.assertIn("output y: fits", outcome.out)

    def test_what_differs(self):
        for values in ([-1.1, float("nan")], [-1, 0], [float("nan"), float("nan")], [float("-inf"), float("nan")]):
            outcome = self.compare(values)
            self.assertEqual(outcome.code, PROBLEMS, str(outcome))
            self.assertIn("output y: DIFFERS", outcome.out)
        self.assertIn("worst at [0, 0]", outcome.out)

    def test_tolerances(self):
        self.assertEqual(self.compare([-1.1, float("nan")], "--atol", "0.2").code, OK)
        self.assertEqual(self.compare([-1.1, float("nan")], "--rtol", "0.2").code, OK)
        self.assertEqual(self.compare([-1.00005, float("nan")], "--atol", "0", "--rtol", "0").code, PROBLEMS)

    def test_another_shape_differs(self):
        outcome = self.compare([-1, float("nan")], shape=(2, 1))
        self.assertEqual(outcome.code, PROBLEMS)
        self.assertIn("expected f32 [2, 1]", outcome.out)

    def test_missing_and_left_over_files(self):
        self.assert_fails(self.compare(None), MISSING, "out-y.npy")
        (self.folder / "golden" / "out-z.npy").write_bytes(b"")
        self.assert_fails(self.compare([-1, float("nan")]), PROBLEMS, "out-z.npy", "no output")


class BadInputs(Models):
    def fails(self, code, *texts, arguments=(), model=None):
        self.assert_fails(self.run_world("run", model or self.model, *arguments), code, *texts)

    def test_models(self):
        self.fails(MISSING, "none.onnx", model="none.onnx")
        self.fails(PROBLEMS, "text.onnx", model=self.write("text.onnx", "this is no model"))
        self.fails(PROBLEMS, "empty.onnx", model=self.write("empty.onnx", ""))
        self.fails(PROBLEMS, "half.onnx", model=self.write("half.onnx", relu_model()[:-20]))

    def test_an_unsupported_op_names_op_and_node(self):
        model = onnx.model([onnx.node("Frobnicate", ["x"], ["y"], "the-node")], [onnx.value_info("x", [1])],
                           [onnx.value_info("y", [1])])
        outcome = self.run_world("run", self.write("op.onnx", model), "--input", "x=1")
        self.assertEqual((outcome.code, outcome.out), (PROBLEMS, ""), str(outcome))
        for text in ("backplane: ", "op.onnx", "Frobnicate", "the-node"):
            self.assertIn(text, outcome.err)

    def test_inputs_that_are_missing_or_unknown(self):
        self.fails(PROBLEMS, "no value for x: f32 [N, 2]", "--input")
        self.fails(PROBLEMS, "no such input", "it has x: f32 [N, 2]", arguments=["--input", "z=1"])
        self.fails(PROBLEMS, "no such input", arguments=["--shape", "z=1"])

    def test_wrong_types_and_shapes(self):
        whole = self.write("i8.npy", onnx.npy([1, 2], (1, 2), "<i8"))
        self.fails(PROBLEMS, "x", "i64", arguments=["--input", f"x=@{whole}"])
        wide = self.write("wide.npy", onnx.npy([1, 2, 3], (1, 3)))
        self.fails(PROBLEMS, "x", "[1, 3]", arguments=["--input", f"x=@{wide}"])
        self.fails(PROBLEMS, "x", arguments=["--input", "x=[1, 2]"])
        self.fails(PROBLEMS, "different lengths", arguments=["--input", "x=[[1, 2], [3]]"])

    def test_damaged_files(self):
        cut = self.write("cut.npy", onnx.npy([1, 2], (1, 2))[:-1])
        self.fails(PROBLEMS, "cut.npy", "truncated", arguments=["--input", f"x=@{cut}"])
        self.fails(MISSING, "none.npy", arguments=["--input", "x=@none.npy"])
        self.fails(PROBLEMS, "cannot take an image", arguments=["--input", f"x=@{DATA / 'pixels.png'}"])

    def test_forms_that_are_none(self):
        for value in ("x", "x=", "=1", "x=one", "x=@file.txt", "x=shape:1,a", "x=random:-1"):
            self.fails(USAGE, arguments=["--input", value])
        self.fails(USAGE, "twice", arguments=["--input", "x=[[1,2]]", "--input", "x=[[1,2]]"])
        self.fails(PROBLEMS, "open dimensions", arguments=["--input", "x=random"])

    def test_pins(self):
        good = ["--input", "x=[[1, 2]]"]
        name = self.run_world("devices", "--json").json()[0]["name"]
        self.fails(USAGE, "NODE=DEVICE", arguments=[*good, "--pin", "first"])
        self.fails(MISSING, "gpu7", arguments=[*good, "--pin", "first=gpu7"])
        self.fails(USAGE, "firs", "did you mean 'first'", arguments=[*good, "--pin", f"firs={name}"])

    def test_places_of_weights(self):
        good = ["--input", "x=[[1, 2]]"]
        first, second = (d["name"] for d in self.run_world("devices", "--json").json())
        self.fails(USAGE, "TENSOR=DEVICE", arguments=[*good, "--location", "w"])
        self.fails(USAGE, "'w'", arguments=[*good, "--location", f"w={first}"])
        self.fails(MISSING, "gpu7", arguments=[*good, "--location", "w=gpu7"])
        self.fails(MISSING, "gpu7", arguments=[*good, "--weights", "gpu7"])
        for option in (["--weights", second], ["--location", f"w={second}"], ["--pin", f"first={second}"]):
            self.fails(MISSING, "leaves", second, arguments=[*good, "--device", first, *option])

    def test_numbers_that_make_no_sense(self):
        good = ["--input", "x=[[1, 2]]"]
        for option in ("--mode=fast", "--reorder-window=-1", "--pipeline=0", "--pipeline=many", "--timeout=0",
                       "--timeout=-1", "--timeout=nan", "--timeout=soon", "--trace="):
            self.fails(USAGE, option.split("=")[0], arguments=[*good, option])
        self.fails(MISSING, "nowhere", arguments=[*good, "--trace", "/nowhere/trace.json"])


if __name__ == "__main__":
    unittest.main()
