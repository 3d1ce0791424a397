// ocr: reads the text in a picture, with a detection, a classification and a recognition model, on whatever devices
// are plugged in.
#include <chrono>
#include <cstdio>

#include "backplane/base/json.hpp"
#include "backplane/base/text.hpp"
#include "backplane/runtime/runtime.hpp"
#include "classifier.hpp"
#include "detector.hpp"
#include "options.hpp"
#include "recogniser.hpp"

namespace ocr {
namespace {

using namespace backplane;

constexpr double kMinScore = 0.5;      // of a line worth reporting
constexpr double kUprightRatio = 1.5;  // a crop that is taller than wide by this reads downwards

struct FoundLine {
  TextBox box;
  TextLine line;
};

struct Models {
  Detector detector;
  Classifier classifier;
  Recogniser recogniser;
};

Result<Models> open_models(Runtime& runtime, const std::vector<Device*>& devices, const std::string& folder) {
  BP_TRY_ASSIGN(Network detector, Network::open(runtime, devices, folder + "/ppocr-det.onnx"));
  BP_TRY_ASSIGN(Network classifier, Network::open(runtime, devices, folder + "/ppocr-cls.onnx"));
  BP_TRY_ASSIGN(Network recogniser, Network::open(runtime, devices, folder + "/ppocr-rec.onnx"));
  BP_TRY_ASSIGN(std::vector<std::string> characters, read_characters(folder + "/ppocr-keys.txt"));
  return Models{Detector(std::move(detector)), Classifier(std::move(classifier)),
                Recogniser(std::move(recogniser), std::move(characters))};
}

Result<TextLine> read_line(Models& models, const Image& image, const TextBox& box) {
  Image line = crop(image, box.corners);
  if (line.height >= kUprightRatio * line.width) line = rotate_left(line);
  BP_TRY_ASSIGN(const bool turned, models.classifier.is_upside_down(line));
  if (turned) line = rotate_180(line);
  return models.recogniser.recognise(line);
}

Result<std::vector<FoundLine>> read_text(Models& models, const Image& image) {
  BP_TRY_ASSIGN(const std::vector<TextBox> boxes, models.detector.detect(image));
  std::vector<FoundLine> lines;
  for (const TextBox& box : boxes) {
    BP_TRY_ASSIGN(TextLine line, read_line(models, image, box));
    if (line.score >= kMinScore && !line.text.empty()) lines.push_back({box, std::move(line)});
  }
  return lines;
}

// ---- output

std::vector<std::pair<const char*, const Usage*>> stages(const Models& models) {
  return {{"detection", &models.detector.network().usage()},
          {"classification", &models.classifier.network().usage()},
          {"recognition", &models.recogniser.network().usage()}};
}

Json to_json(const FoundLine& found) {
  Json corners = Json::array();
  for (const Point p : found.box.corners) corners.push(Json::array({Json::number(p.x), Json::number(p.y)}));
  return Json::object({{"text", Json::text(found.line.text)},
                       {"score", Json::number(found.line.score)},
                       {"box", std::move(corners)},
                       {"box_score", Json::number(found.box.score)}});
}

Json to_json(const char* stage, const Usage& usage) {
  Json devices = Json::array();
  for (const std::string& name : usage.split_devices) devices.push(Json::text(name));
  return Json::object({{"stage", Json::text(stage)},
                       {"runs", Json::integer(usage.runs)},
                       {"prepared_shapes", Json::integer(usage.prepared_shapes)},
                       {"splits", Json::integer(usage.splits)},
                       {"split_devices", std::move(devices)},
                       {"copies", Json::integer(usage.copies)},
                       {"prepare_ms", Json::number(usage.prepare_ms)},
                       {"run_ms", Json::number(usage.run_ms)}});
}

void print_json(const std::vector<Device*>& devices, const Models& models, const std::vector<FoundLine>& lines) {
  Json names = Json::array(), stage_list = Json::array(), line_list = Json::array();
  for (const Device* device : devices) names.push(Json::text(device->name()));
  for (const auto& [stage, usage] : stages(models)) stage_list.push(to_json(stage, *usage));
  for (const FoundLine& found : lines) line_list.push(to_json(found));
  std::puts(
      Json::object({{"devices", std::move(names)}, {"stages", std::move(stage_list)}, {"lines", std::move(line_list)}})
          .dump()
          .c_str());
}

void print_text(const std::vector<Device*>& devices, const Models& models, const std::vector<FoundLine>& lines) {
  for (const Device* device : devices)
    std::printf("device %s: %s\n", device->name().c_str(), device->description().c_str());
  for (const auto& [stage, usage] : stages(models)) {
    std::printf("%-14s %s in %.1f ms, %s prepared in %.1f ms", stage, counted(usage->runs, "run", "runs").c_str(),
                usage->run_ms, counted(usage->prepared_shapes, "shape", "shapes").c_str(), usage->prepare_ms);
    if (usage->runs != 0)
      std::printf("; %s (%s), %s", counted(usage->splits, "split", "splits").c_str(),
                  join(usage->split_devices, ", ").c_str(), counted(usage->copies, "copy", "copies").c_str());
    std::puts("");
  }
  for (const FoundLine& found : lines) {
    std::printf("%.3f  %s  [", found.line.score, found.line.text.c_str());
    for (const Point p : found.box.corners) std::printf(" %.0f,%.0f", p.x, p.y);
    std::printf(" ] %.3f\n", found.box.score);
  }
}

Status run(const Options& options) {
  BP_TRY_ASSIGN(const Image image, read_image(options.image));
  BP_TRY_ASSIGN(const auto runtime, Runtime::open());
  BP_TRY_ASSIGN(const std::vector<Device*> devices, runtime->select(options.devices));
  if (devices.empty()) return failed_precondition("no devices; `backplane plugins` says why");
  BP_TRY_ASSIGN(Models models, open_models(*runtime, devices, options.models));
  const auto start = std::chrono::steady_clock::now();
  BP_TRY_ASSIGN(const std::vector<FoundLine> lines, read_text(models, image));
  const double total_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (options.json) {
    print_json(devices, models, lines);
    return ok_status();
  }
  print_text(devices, models, lines);
  std::printf("%zu lines in %.1f ms\n", lines.size(), total_ms);
  return ok_status();
}

}  // namespace
}  // namespace ocr

int main(int argc, char** argv) {
  const backplane::Result<ocr::Options> options = ocr::parse_options(argc, argv);
  if (!options.ok()) {
    std::fprintf(stderr, "ocr: %s\n%s\n", options.status().message().c_str(), ocr::kUsage);
    return 2;
  }
  const backplane::Status status = ocr::run(*options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "ocr: %s\n", status.message().c_str());
  return 1;
}
