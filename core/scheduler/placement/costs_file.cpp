#include "scheduler/placement/costs_file.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string_view>

#include "backplane/base/text.hpp"
#include "backplane/runtime/runtime.hpp"
#include "base/regular_file.hpp"

namespace backplane {
namespace {

constexpr int64_t kFormat = 1;
constexpr uint64_t kMaxBytes = 1 << 20;
constexpr int64_t kMostWorkers = 1 << 20;
// Sums of so large figures do not overflow.
constexpr int64_t kMostCost = 1'000'000'000'000;

constexpr std::array<std::string_view, kOpClassCount> kClassNames = {"matmul",    "quantised_matmul", "convolution",
                                                                     "attention", "elementwise",      "movement"};

struct Figure {
  std::string_view name;
  int64_t DeviceCosts::*value;
};
constexpr Figure kFigures[] = {{"launch_ns", &DeviceCosts::launch_ns},
                               {"split_ns", &DeviceCosts::split_ns},
                               {"bytes_per_us", &DeviceCosts::bytes_per_us},
                               {"link_latency_ns", &DeviceCosts::link_latency_ns},
                               {"link_bytes_per_us", &DeviceCosts::link_bytes_per_us}};

struct Name {
  std::string_view name;
  std::string MeasuredDevice::*value;
};
constexpr Name kNames[] = {{"plugin", &MeasuredDevice::plugin},
                           {"plugin_version", &MeasuredDevice::plugin_version},
                           {"device", &MeasuredDevice::device},
                           {"description", &MeasuredDevice::description}};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Status read(const Json& root, std::vector<std::pair<MeasuredDevice, DeviceCosts>>& entries) const {
    BP_TRY(expect_object(root, "the file", 2));
    int64_t format = 0;
    BP_TRY(read_integer(root, "backplane_costs", kFormat, &format));
    BP_TRY_ASSIGN(const Json* devices, member(root, "devices"));
    if (!devices->is(Json::Kind::array)) return error(*devices, "devices", "an array");
    for (const Json& device : devices->items()) {
      auto& [measured, costs] = entries.emplace_back();
      BP_TRY(read_device(device, measured, costs));
    }
    return {};
  }

 private:
  Status read_device(const Json& json, MeasuredDevice& device, DeviceCosts& costs) const {
    BP_TRY(expect_object(json, "a device", std::size(kNames) + 2));
    for (const auto& [name, value] : kNames) {
      BP_TRY_ASSIGN(const Json* text, member(json, name));
      if (!text->is(Json::Kind::text)) return error(*text, name, "a string");
      device.*value = text->as_text();
    }
    BP_TRY(read_integer(json, "workers", kMostWorkers, &device.workers));
    BP_TRY_ASSIGN(const Json* figures, member(json, "costs"));
    BP_TRY(expect_object(*figures, "costs", std::size(kFigures) + 1));
    for (const auto& [name, value] : kFigures) BP_TRY(read_integer(*figures, name, kMostCost, &(costs.*value)));
    BP_TRY_ASSIGN(const Json* classes, member(*figures, "flops_per_us"));
    BP_TRY(expect_object(*classes, "flops_per_us", kOpClassCount));
    for (size_t i = 0; i < kOpClassCount; ++i)
      BP_TRY(read_integer(*classes, kClassNames[i], kMostCost, &costs.flops_per_us[i]));
    costs.calibrated = true;
    return {};
  }

  Status read_integer(const Json& object, std::string_view name, int64_t most, int64_t* value) const {
    BP_TRY_ASSIGN(const Json* json, member(object, name));
    if (!json->is(Json::Kind::integer) || json->as_integer() < 0 || json->as_integer() > most)
      return error(*json, name, cat("a whole number from 0 to ", most));
    *value = json->as_integer();
    return {};
  }

  Result<const Json*> member(const Json& object, std::string_view name) const {
    if (const Json* found = object.find(name)) return found;
    return error(object, name, "it, and it is missing");
  }

  Status expect_object(const Json& json, std::string_view what, size_t members) const {
    if (!json.is(Json::Kind::object)) return error(json, what, "an object");
    if (json.members().size() == members) return {};
    return error(json, what, cat(members, " members, and there are ", json.members().size()));
  }

  Status error(const Json& at, std::string_view what, std::string_view wanted) const {
    return invalid_argument(cat(path_, ":", at.line(), ":", at.column(), ": ", what, ": wanted ", wanted,
                                "; mend the file, or remove it to have the devices measured again"),
                            "costs.syntax");
  }

  const std::string& path_;
};

}  // namespace

MeasuredDevice MeasuredDevice::of(const Runtime& runtime, const Device& device) {
  MeasuredDevice measured{device.plugin_id(), {}, device.identity(), device.description(), 0};
  for (const PluginInfo& plugin : runtime.plugins())
    if (plugin.id == device.plugin_id()) measured.plugin_version = plugin.version;
  measured.workers = runtime.workers().count();
  return measured;
}

Result<CostsFile> CostsFile::read(const std::string& path) {
  const Result<RegularFile> file = RegularFile::open(path);
  if (file.status().code() == Code::not_found) return CostsFile();
  BP_TRY(file.status());
  BP_TRY_ASSIGN(const std::string text, file->read_text(kMaxBytes));
  return parse(text, path);
}

Result<CostsFile> CostsFile::parse(std::string_view text, const std::string& path) {
  BP_TRY_ASSIGN(const Json root, parse_json(text, path, {.max_bytes = kMaxBytes}));
  CostsFile file;
  BP_TRY(Reader(path).read(root, file.entries_));
  return file;
}

const DeviceCosts* CostsFile::find(const MeasuredDevice& device) const {
  const auto found =
      std::ranges::find(entries_, device, [](const auto& entry) { return std::cref(entry.first).get(); });
  return found == entries_.end() ? nullptr : &found->second;
}

void CostsFile::set(MeasuredDevice device, const DeviceCosts& costs) {
  std::erase_if(entries_, [&](const auto& entry) {
    return entry.first.plugin == device.plugin && entry.first.device == device.device;
  });
  entries_.emplace_back(std::move(device), costs);
}

Json CostsFile::to_json() const {
  Json devices = Json::array();
  for (const auto& [measured, costs] : entries_) {
    Json device = Json::object(), figures = Json::object(), classes = Json::object();
    for (const auto& [name, value] : kNames) device.set(std::string(name), Json::text(measured.*value));
    device.set("workers", Json::integer(measured.workers));
    for (const auto& [name, value] : kFigures) figures.set(std::string(name), Json::integer(costs.*value));
    for (size_t i = 0; i < kOpClassCount; ++i)
      classes.set(std::string(kClassNames[i]), Json::integer(costs.flops_per_us[i]));
    figures.set("flops_per_us", std::move(classes));
    device.set("costs", std::move(figures));
    devices.push(std::move(device));
  }
  return Json::object({{"backplane_costs", Json::integer(kFormat)}, {"devices", std::move(devices)}});
}

}  // namespace backplane
