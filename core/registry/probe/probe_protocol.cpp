#include "probe_protocol.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

using End = ProbeVerdict::End;

constexpr int kMaxSignal = 64;
constexpr size_t kShownBytes = 100;  // of a bad value in a message
constexpr std::string_view kEndNames[] = {"passed", "refused", "crashed", "exited", "timed_out"};
constexpr LoadStage kStages[] = {LoadStage::dlopen, LoadStage::symbol,    LoadStage::negotiate, LoadStage::probe,
                                 LoadStage::open,   LoadStage::enumerate, LoadStage::active};

Status protocol_error(std::string message) { return invalid_argument(std::move(message), "probe.protocol"); }

// Takes the members of an object that must have exactly those asked for. The first fault is kept; what is taken then
// is of no use.
class Fields {
 public:
  Fields(const Json& json, std::string_view what, size_t count) : json_(json), what_(what) {
    if (!json.is(Json::Kind::object) || json.members().size() != count) fail(cat("must have ", count, " members"));
  }

  std::string text(std::string_view key) {
    const Json* member = take(key, Json::Kind::text);
    return member ? member->as_text() : std::string();
  }
  Json object(std::string_view key) {
    const Json* member = take(key, Json::Kind::object);
    return member ? *member : Json::object();
  }
  int64_t integer(std::string_view key, int64_t least, int64_t most) {
    const Json* member = take(key, Json::Kind::integer);
    if (member == nullptr) return 0;
    if (member->as_integer() < least || member->as_integer() > most)
      fail(cat("'", key, "' must be ", least, " to ", most, ", not ", member->as_integer()));
    return member->as_integer();
  }
  // The position of the text among `names`.
  size_t choice(std::string_view key, std::span<const std::string_view> names) {
    const std::string name = text(key);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    fail(cat("'", key, "' cannot be '", shortened(name, kShownBytes), "'"));
    return 0;
  }

  void fail(std::string_view why) {
    if (status_.ok()) status_ = protocol_error(cat(what_, ": ", why));
  }
  const Status& status() const { return status_; }

 private:
  const Json* take(std::string_view key, Json::Kind kind) {
    const Json* member = json_.is(Json::Kind::object) ? json_.find(key) : nullptr;
    if (member != nullptr && member->is(kind)) return member;
    fail(cat("'", key, "' is ", member ? "of the wrong type" : "missing"));
    return nullptr;
  }

  const Json& json_;
  std::string_view what_;
  Status status_;
};

LoadStage take_stage(Fields& fields) {
  std::array<std::string_view, std::size(kStages)> names;
  std::transform(std::begin(kStages), std::end(kStages), names.begin(), stage_name);
  return kStages[fields.choice("stage", names)];
}

// The numbers that an end can have.
std::pair<int64_t, int64_t> number_range(End end) {
  if (end == End::crashed) return {1, kMaxSignal};
  if (end == End::exited) return {-1, 255};
  return {0, 0};
}

Result<Json> parse_text(std::string_view text, std::string_view what, uint64_t max_bytes) {
  Result<Json> json = parse_json(text, what, {.max_bytes = max_bytes});
  if (!json.ok()) return protocol_error(json.status().message());
  return json;
}

}  // namespace

std::string to_json_text(const ProbeRequest& request) {
  return Json::object({{"library_path", Json::text(request.library_path)},
                       {"plugin_id", Json::text(request.plugin_id)},
                       {"entry_point", Json::text(request.entry_point)},
                       {"default_options", request.default_options},
                       {"options", request.options},
                       {"host_name", Json::text(request.host_name)}})
      .dump(-1);
}

Result<ProbeRequest> parse_probe_request(std::string_view text) {
  BP_TRY_ASSIGN(const Json json, parse_text(text, "probe request", kProbeRequestMaxBytes));
  Fields fields(json, "probe request", 6);
  ProbeRequest request;
  request.library_path = fields.text("library_path");
  request.plugin_id = fields.text("plugin_id");
  request.entry_point = fields.text("entry_point");
  request.default_options = fields.object("default_options");
  request.options = fields.object("options");
  request.host_name = fields.text("host_name");
  if (!request.library_path.starts_with('/')) fields.fail("'library_path' must be absolute");
  BP_TRY(fields.status());
  return request;
}

Json verdict_to_json(const ProbeVerdict& verdict) {
  return Json::object({{"end", Json::text(std::string(kEndNames[static_cast<size_t>(verdict.end)]))},
                       {"stage", Json::text(std::string(stage_name(verdict.stage)))},
                       {"number", Json::integer(verdict.number)},
                       {"code", Json::text(verdict.code)},
                       {"message", Json::text(verdict.message)},
                       {"output", Json::text(verdict.output)},
                       {"elapsed_ns", Json::integer(static_cast<int64_t>(verdict.elapsed_ns))}});
}

Result<ProbeVerdict> verdict_from_json(const Json& json) {
  Fields fields(json, "probe verdict", 7);
  ProbeVerdict verdict;
  verdict.end = static_cast<End>(fields.choice("end", kEndNames));
  verdict.stage = take_stage(fields);
  const auto [least, most] = number_range(verdict.end);
  verdict.number = static_cast<int>(fields.integer("number", least, most));
  verdict.code = fields.text("code");
  verdict.message = fields.text("message");
  verdict.output = fields.text("output");
  verdict.elapsed_ns = static_cast<uint64_t>(fields.integer("elapsed_ns", 0, std::numeric_limits<int64_t>::max()));
  if (verdict.end == End::passed && verdict.stage != LoadStage::active) fields.fail("passed without all stages");
  if ((verdict.end == End::refused) == verdict.code.empty()) fields.fail("a code is for what was refused");
  if (verdict.output.size() > kProbeOutputMaxBytes) fields.fail("'output' is too long");
  BP_TRY(fields.status());
  return verdict;
}

std::string to_json_text(const ProbeVerdict& verdict) { return verdict_to_json(verdict).dump(-1); }

Result<ProbeVerdict> parse_probe_verdict(std::string_view text) {
  BP_TRY_ASSIGN(const Json json, parse_text(text, "probe verdict", 8 * kProbeOutputMaxBytes));
  return verdict_from_json(json);
}

}  // namespace backplane
