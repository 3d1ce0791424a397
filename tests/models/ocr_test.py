"""The OCR example reads exactly the text that was printed into tests/data/text.png."""
import os

from workplace import DATA, MODELS, expect, find_model, run, run_json

OCR = os.environ["BACKPLANE_TEST_OCR"]
LINES = ["Backplane runs tensor graphs", "on whatever is plugged in", "2026"]

for file in ("ppocr-det.onnx", "ppocr-cls.onnx", "ppocr-rec.onnx", "ppocr-keys.txt"):
    find_model(file)
arguments = [OCR, DATA / "text.png", "--models", MODELS]
result = run_json(arguments)
found = [line["text"] for line in result["lines"]]
expect(found == LINES, f"read {found}, expected {LINES}")
expect(all(line["score"] > 0.8 for line in result["lines"]), f"unsure: {result['lines']}")
expect([stage["runs"] for stage in result["stages"]] == [1, 3, 3], f"stages: {result['stages']}")
text = run(arguments)
expect(all(line in text for line in LINES), f"printed {text}")
