"""Checks of one real model: model_test.py CHECK MODEL."""
import pathlib
import sys
import tempfile

from workplace import DATA, FAKE, PLUGINS, PROGRAM, Array, expect, find_model, run, run_json

# Where the batch stands in tensors in which it is not the first axis.
BATCH_AXES = {"state": 1, "stateN": 1}

# Shapes of input x, and what the outputs must then look like.
SIZES = {
    "ppocr-cls": [((1, 3, 48, 192), [1, 2]), ((7, 3, 48, 192), [7, 2])],
    "ppocr-det": [((1, 3, 32, 32), [1, 1, 32, 32]), ((1, 3, 128, 224), [1, 1, 128, 224]),
                  ((3, 3, 64, 96), [3, 1, 64, 96])],
    "ppocr-rec": [((1, 3, 48, 64), [1, 8, 6625]), ((1, 3, 48, 328), [1, 41, 6625]), ((3, 3, 48, 96), [3, 12, 6625])],
}


def golden(name):
    """As ONNX Runtime."""
    print(run([PROGRAM, "run", find_model(f"{name}.onnx"), "--compare", DATA / "golden" / name]))


def batch(name):
    """The same example twice in one batch gives the same result twice."""
    model = find_model(f"{name}.onnx")
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted((DATA / "golden" / name).iterdir()):
            array = Array.read(path)
            tensor = path.stem.split("-", 1)[1]
            if array.shape:
                array = array.doubled(BATCH_AXES.get(tensor, 0))
            array.write(pathlib.Path(scratch) / path.name)
        print(run([PROGRAM, "run", model, "--compare", scratch]))


def sizes(name):
    """Other widths, heights and batches run, and give finite numbers that depend on the input."""
    model = find_model(f"{name}.onnx")
    for shape, wanted in SIZES[name]:
        text = ",".join(map(str, shape))
        (output,) = run_json([PROGRAM, "run", model, "--input", f"x=random:{text}"])["outputs"]
        expect(output["shape"] == wanted, f"{text}: output of shape {output['shape']}, expected {wanted}")
        expect(output["not_finite"] == 0, f"{text}: {output['not_finite']} values are not finite")
        expect(0 <= output["min"] < output["max"] <= 1, f"{text}: no probabilities: {output}")
        (zeros,) = run_json([PROGRAM, "run", model, "--input", f"x=zeros:{text}"])["outputs"]
        expect(zeros != output, f"{text}: the output does not depend on the input")


def alternate(name):
    """The result does not depend on the devices: every second node that the simulated device can run is put there."""
    model = find_model(f"{name}.onnx")
    both = f"{PLUGINS}:{FAKE}"
    names = {d["plugin"]: d["name"] for d in run_json([PROGRAM, "devices"], both)}
    fake, cpu = names["org.backplane.fake"], names["org.backplane.cpu"]
    values = []
    for path in sorted((DATA / "golden" / name).glob("in-*.npy")):
        values += ["--input", f"{path.stem[3:]}=@{path}"]
    plan = run_json([PROGRAM, "plan", model, *values, "--device", f"{fake},{cpu}"], both)
    taken = [n["node"] for n in plan["nodes"] if n["op"] in ("add", "sub", "mul", "div", "relu")]
    expect(len(taken) >= 3, f"the simulated device can take {len(taken)} nodes only")
    pins = []
    for node in plan["nodes"]:
        pins += ["--pin", f"{node['node']}={fake if node['node'] in taken[::2] else cpu}"]
    result = run_json([PROGRAM, "run", model, "--device", f"{fake},{cpu}", *pins, *values,
                       "--compare", DATA / "golden" / name], both)
    print(f"{len(taken[::2])} of {len(plan['nodes'])} nodes on {fake}, {result['splits']} splits, "
          f"{result['copies']} copies")
    expect(result["splits"] >= 3, f"{result['splits']} splits only")
    expect(len(result["comparisons"]) > 0, "nothing was compared")


def hbm(name):
    """On high-bandwidth memory, in turn with the processor, and with the weights there only: nothing is ever copied."""
    model, golden_folder = find_model(f"{name}.onnx"), DATA / "golden" / name
    node = {"MEMKIND_HBW_NODES": "0"}
    values = []
    for path in sorted(golden_folder.glob("in-*.npy")):
        values += ["--input", f"{path.stem[3:]}=@{path}"]
    plan = run_json([PROGRAM, "plan", model, *values, "--device", "hbm0"], **node)
    pins = []
    for i, planned in enumerate(plan["nodes"]):
        pins += ["--pin", f"{planned['node']}={'hbm0' if i % 2 == 0 else 'cpu0'}"]
    ways = {"hbm0": ["--device", "hbm0"], "in turn": ["--device", "hbm0,cpu0", *pins],
            "weights": ["--device", "cpu0,hbm0", "--weights", "hbm0"]}
    for way, arguments in ways.items():
        result = run_json([PROGRAM, "run", model, *values, "--compare", golden_folder, *arguments], **node)
        print(f"{way}: {result['splits']} splits, {result['copied_bytes']} bytes copied")
        expect(len(result["comparisons"]) > 0, "nothing was compared")
        expect(result["copies"] == 0 and result["copied_bytes"] == 0, f"{way}: {result['copied_bytes']} bytes copied")
        expect(not result["incidents"], f"{way}: {result['incidents']}")
        expect(way != "in turn" or result["splits"] >= 3, f"{result['splits']} splits only")


if __name__ == "__main__":
    {"golden": golden, "batch": batch, "sizes": sizes, "alternate": alternate, "hbm": hbm}[sys.argv[1]](sys.argv[2])
