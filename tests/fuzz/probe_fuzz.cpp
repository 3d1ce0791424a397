// Fuzzes what a probe's processes tell each other and what is kept of it: parse_probe_request, parse_probe_verdict, and
// ProbeCache. The input is the text of any of them.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "backplane/base/text.hpp"
#include "property.hpp"
#include "registry/probe/probe.hpp"
#include "registry/probe/probe_cache.hpp"
#include "registry/probe/probe_protocol.hpp"
#include "scratch_folder.hpp"

namespace backplane {
namespace {

using End = ProbeVerdict::End;

constexpr std::string_view kIds[] = {"protocol"};
constexpr uint64_t kDependencies = 7;

// ---- what goes over the wire

void require_sound(const ProbeVerdict& verdict) {
  const auto least = verdict.end == End::crashed ? 1 : verdict.end == End::exited ? -1 : 0;
  const auto most = verdict.end == End::crashed ? 64 : verdict.end == End::exited ? 255 : 0;
  require(verdict.number >= least && verdict.number <= most, "the number is one that the end can have");
  require(verdict.end != End::passed || verdict.stage == LoadStage::active, "who passed went through all stages");
  require(verdict.code.empty() == (verdict.end != End::refused), "a code is for what was refused");
  require(verdict.output.size() <= kProbeOutputMaxBytes, "output has its cap");
  require(verdict.elapsed_ns <= INT64_MAX, "time does not run backwards");
  if (!verdict.deadly()) return;
  const Status failure = probe_failure(verdict, std::chrono::seconds(1));
  require(failure.id().starts_with("probe.") && failure.message().size() <= 1024, "a deadly verdict can be told");
}

void check_verdict(std::string_view text) {
  const Result<ProbeVerdict> verdict = parse_probe_verdict(text);
  if (!verdict) {
    require_refusal(verdict.status(), Code::invalid_argument, "probe", kIds);
    return require(parse_probe_verdict(text).status().message() == verdict.status().message(),
                   "reading twice gives the same");
  }
  require_sound(*verdict);
  const std::string written = to_json_text(*verdict);
  const Result<ProbeVerdict> again = parse_probe_verdict(written);
  require(again.ok() && to_json_text(*again) == written, "a verdict survives the wire");
  require(again->end == verdict->end && again->stage == verdict->stage && again->number == verdict->number &&
              again->message == verdict->message && again->output == verdict->output &&
              again->elapsed_ns == verdict->elapsed_ns,
          "a verdict arrives as it was sent");
}

void check_request(std::string_view text) {
  const Result<ProbeRequest> request = parse_probe_request(text);
  if (!request) return require_refusal(request.status(), Code::invalid_argument, "probe", kIds);
  require(request->library_path.starts_with('/'), "a library's path is absolute");
  require(request->options.is(Json::Kind::object) && request->default_options.is(Json::Kind::object),
          "options are objects");
  const std::string written = to_json_text(*request);
  const Result<ProbeRequest> again = parse_probe_request(written);
  require(again.ok() && to_json_text(*again) == written, "a request survives the wire");
  require(again->library_path == request->library_path && again->plugin_id == request->plugin_id &&
              again->entry_point == request->entry_point && again->host_name == request->host_name,
          "a request arrives as it was sent");
}

// ---- what is kept

// A library, a cache for it, and what a sound record of it is made of.
class KeptVerdicts {
 public:
  KeptVerdicts() {
    request_.library_path = folder_.write("library.so", "a library");
    request_.plugin_id = "org.example.fuzz";
    cache_.store(request_, library(), kDependencies, passed());
    for (const auto& file : std::filesystem::directory_iterator(folder_.path()))
      if (file.path().extension() == ".json") record_name_ = file.path().filename();
    require(!record_name_.empty(), "a verdict is kept in a file");
    record_ = read_record();
  }

  // Puts the text in place of the record; gives what the cache then knows.
  std::optional<ProbeVerdict> find_in(std::string_view text) const {
    folder_.write(record_name_, text);
    return cache_.find(request_, library(), kDependencies);
  }
  std::optional<ProbeVerdict> store_and_find(const ProbeVerdict& verdict) const {
    cache_.store(request_, library(), kDependencies, verdict);
    return cache_.find(request_, library(), kDependencies);
  }
  // The sound record with the text in place of its verdict.
  std::string with_verdict(std::string_view text) const {
    constexpr std::string_view kKey = "\"verdict\": ";
    return cat(std::string_view(record_).substr(0, record_.find(kKey) + kKey.size()), text, "}");
  }

 private:
  static ProbeVerdict passed() { return {End::passed, LoadStage::active, 0, "", "", "", 1}; }
  RegularFile library() const {
    Result<RegularFile> file = RegularFile::open(request_.library_path);
    require(file.ok(), "the library can be opened");
    return *std::move(file);
  }
  std::string read_record() const {
    std::ifstream file(cat(folder_.path(), "/", record_name_), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  ScratchFolder folder_;
  ProbeCache cache_{folder_.path()};
  ProbeRequest request_;
  std::string record_name_, record_;
};

void check_cache(std::string_view text) {
  static const KeptVerdicts kKept;
  require(!kKept.find_in(text), "a record without the right key is as good as none");
  // In a record that is right otherwise, the verdict is the only thing that decides.
  const Result<ProbeVerdict> verdict = parse_probe_verdict(text);
  const bool worth_keeping = verdict.ok() && verdict->end != End::refused;
  const std::optional<ProbeVerdict> found =
      kKept.find_in(kKept.with_verdict(verdict ? to_json_text(*verdict) : std::string(text)));
  require(!found || found->end != End::refused, "what was refused is not kept");
  require(!worth_keeping || (found && to_json_text(*found) == to_json_text(*verdict)), "a kept verdict is found");
  if (!verdict) return;
  const std::optional<ProbeVerdict> stored = kKept.store_and_find(*verdict);
  require(stored.has_value() == worth_keeping, "what is worth it is kept");
  require(!stored || to_json_text(*stored) == to_json_text(*verdict), "a verdict is kept as it is");
}

}  // namespace
}  // namespace backplane

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  backplane::check_verdict(text);
  backplane::check_request(text);
  backplane::check_cache(text);
  return 0;
}
