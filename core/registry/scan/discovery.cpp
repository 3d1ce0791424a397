#include "discovery.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxCandidates = 4096;  // of one folder; beyond this it is no folder of plugins

bool is_manifest_name(std::string_view name) { return to_lower(name).ends_with(".json"); }
bool is_candidate_name(std::string_view name) {
  return !name.starts_with(".") && (is_manifest_name(name) || to_lower(name).ends_with(".so"));
}

class Finder {
 public:
  void search(const SearchEntry& entry);
  std::vector<Candidate> take() { return std::move(found_); }

 private:
  void add_folder(const SearchEntry& entry);
  void add_file(const SearchEntry& entry, const fs::path& path);
  void open(Candidate& candidate, const fs::path& path);
  // True if the file is the first of its name; else the candidate is stopped.
  bool first_of_its_name(Candidate& candidate, const std::string& name);
  void refuse(const SearchEntry& entry, const Status& status, int system_error = 0);

  std::vector<Candidate> found_;
  std::set<FileIdentity> folders_;
  std::map<FileIdentity, std::string> files_;  // -> the path that was found first
  std::map<std::string, std::string> names_;   // file name -> the path that has it
};

void Finder::search(const SearchEntry& entry) {
  if (!fs::path(entry.path).is_absolute()) {
    if (entry.requested)
      refuse(entry, invalid_argument(cat("'", entry.path, "' of ", entry.source, " is not an absolute path"),
                                     "path.relative"));
    return;
  }
  struct stat info = {};
  if (stat(entry.path.c_str(), &info) != 0) {
    const int error = errno;
    if (entry.requested || (error != ENOENT && error != ENOTDIR))
      refuse(entry,
             not_found(cat("'", entry.path, "' of ", entry.source, " cannot be read: ", std::strerror(error)),
                       "path.missing"),
             error);
    return;
  }
  if (!S_ISDIR(info.st_mode)) {
    if (entry.requested) add_file(entry, entry.path);
    return;
  }
  if (folders_.insert({info.st_dev, info.st_ino}).second) add_folder(entry);
}

void Finder::add_folder(const SearchEntry& entry) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(entry.path, error), end; !error && at != end; at.increment(error))
    if (std::string name = at->path().filename().string(); is_candidate_name(name)) names.push_back(std::move(name));
  if (error)
    refuse(entry, failed_precondition(cat("cannot list '", entry.path, "': ", error.message()), "path.unreadable"),
           error.value());
  std::sort(names.begin(), names.end());
  if (names.size() > kMaxCandidates) {
    refuse(entry, failed_precondition(cat("'", entry.path, "' has ", names.size(), " candidates; only the first ",
                                          kMaxCandidates, " are looked at"),
                                      "path.too-many"));
    names.resize(kMaxCandidates);
  }
  for (const std::string& name : names) add_file(entry, fs::path(entry.path) / name);
}

void Finder::add_file(const SearchEntry& entry, const fs::path& path) {
  Candidate candidate;
  candidate.report.source = entry.source;
  candidate.report.requested = path.string();
  candidate.kind = is_manifest_name(path.filename().string()) ? Candidate::Kind::manifest : Candidate::Kind::library;
  if (first_of_its_name(candidate, path.filename().string())) {
    const CandidateTimer timer(candidate.report);
    open(candidate, path);
    if (!candidate.stopped) {
      const auto [earlier, first] = files_.emplace(candidate.file, path.string());
      if (!first)
        candidate.stop(LoadStage::shadowed, LoadOutcome::skipped,
                       failed_precondition(cat("the same file as '", earlier->second, "'"), "file.duplicate"));
    }
  }
  found_.push_back(std::move(candidate));
}

bool Finder::first_of_its_name(Candidate& candidate, const std::string& name) {
  const std::string& path = candidate.report.requested;
  const auto [earlier, first] = names_.emplace(name, path);
  if (!first)
    candidate.stop(
        LoadStage::shadowed, LoadOutcome::skipped,
        failed_precondition(cat("'", earlier->second, "' has the same name and comes first"), "file.shadowed"));
  else if (leads_to_null_device(path))
    candidate.stop(LoadStage::shadowed, LoadOutcome::skipped,
                   failed_precondition("masked by a link to /dev/null", "file.masked"));
  return !candidate.stopped;
}

void Finder::open(Candidate& candidate, const fs::path& path) {
  const Result<RegularFile> file = RegularFile::open(path.string(), &candidate.report.system_error);
  if (!file) return candidate.stop(LoadStage::found, LoadOutcome::failed, file.status());
  candidate.file = file->identity();
  candidate.report.stage = LoadStage::opened;
  std::error_code error;
  candidate.folder = fs::canonical(path, error).parent_path().string();
  if (candidate.kind == Candidate::Kind::library) return;
  Result<std::string> text = file->read_text(kManifestMaxBytes);
  if (!text) return candidate.stop(LoadStage::opened, LoadOutcome::failed, text.status().with_context(path.string()));
  candidate.text = std::move(*text);
}

void Finder::refuse(const SearchEntry& entry, const Status& status, int system_error) {
  Candidate candidate;
  candidate.report.source = entry.source;
  candidate.report.requested = entry.path;
  candidate.report.system_error = system_error;
  candidate.stop(LoadStage::found, LoadOutcome::failed, status);
  found_.push_back(std::move(candidate));
}

}  // namespace

std::vector<Candidate> discover(std::span<const SearchEntry> entries) {
  Finder finder;
  for (const SearchEntry& entry : entries) finder.search(entry);
  return finder.take();
}

}  // namespace backplane
