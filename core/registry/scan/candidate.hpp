// Candidate: one file on its way through the stages of loading, with the report that it leaves behind.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/registry/load_report.hpp"
#include "base/regular_file.hpp"
#include "registry/manifest/manifest.hpp"

namespace backplane {

struct Candidate {
  enum class Kind { manifest, library };

  LoadReport report;
  Kind kind = Kind::manifest;
  FileIdentity file;     // the discovered file
  std::string folder;    // of the real file, links resolved
  std::string text;      // of a manifest
  bool stopped = false;  // the report says why
  bool standby = false;  // a variant that is used only if all better ones fail
  bool tried = false;    // in a child process, or a verdict was known, or none is wanted
  std::optional<Manifest> manifest;
  std::optional<FileIdentity> library;  // the library as it was checked
  Json options = Json::object();        // over the manifest's, from configuration and application

  // Ends the way at `stage`: `status` gives code and message. Without a hint, that of the code is given.
  void stop(LoadStage stage, LoadOutcome outcome, const Status& status, std::string_view hint = {});
  // Whether nothing so far speaks against loading it.
  bool waiting() const { return !stopped && !standby; }
};

// Adds the time of a scope to a report.
class CandidateTimer {
 public:
  explicit CandidateTimer(LoadReport& report);
  ~CandidateTimer();
  CandidateTimer(const CandidateTimer&) = delete;
  CandidateTimer& operator=(const CandidateTimer&) = delete;

 private:
  LoadReport& report_;
  uint64_t begin_ns_;
};

}  // namespace backplane
