#include "probe_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <vector>

#include "backplane/base/sha256.hpp"
#include "backplane/base/text.hpp"
#include "base/descriptor.hpp"
#include "base/replace_file.hpp"
#include "probe_protocol.hpp"
#include "registry/scan/pin.hpp"

namespace backplane {
namespace {

constexpr int64_t kFormat = 1;
constexpr uint64_t kMaxRecordBytes = 8 * kProbeOutputMaxBytes;
// Files that changed less than this before they were looked at may change again without their times telling so.
constexpr int64_t kSettleSeconds = 2;

struct Record {
  std::string key;      // of all that the verdict depends on but the library
  std::string sha256;   // of the library
  std::string version;  // FileVersion of the library with that content; empty = not known for sure
  ProbeVerdict verdict;
};

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text.data(), text.size())));
  return hash.finish();
}

// Empty if the file cannot be read.
std::string sha256_of(const RegularFile& file) {
  const Result<std::string> digest = file_digest(file);
  return digest ? *digest : std::string();
}

std::string record_path(const std::string& folder, const ProbeRequest& request) {
  return cat(folder, "/", sha256_of(cat(request.library_path, "\n", request.host_name)).substr(0, 32), ".json");
}

std::string record_key(const ProbeRequest& request, uint64_t dependencies) {
  utsname system = {};
  ::uname(&system);
  return sha256_of(cat(to_json_text(request), '\n', dependencies, '\n', BACKPLANE_VERSION, '\n', BP_ABI_VERSION, '\n',
                       system.sysname, '\n', system.release, '\n', system.machine));
}

// What the system says of the file besides its content; it changes with the content, if the file is not all too young.
// Empty if the name stands for another file by now.
std::string file_version(const std::string& path, const RegularFile& file) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0 || FileIdentity{info.st_dev, info.st_ino} != file.identity()) return {};
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const bool settled = std::max(info.st_ctim.tv_sec, info.st_mtim.tv_sec) + kSettleSeconds < now.tv_sec;
  return settled ? cat(info.st_dev, ':', info.st_ino, ':', info.st_size, ':', info.st_ctim.tv_sec, '.',
                       info.st_ctim.tv_nsec, ':', info.st_mtim.tv_sec, '.', info.st_mtim.tv_nsec)
                 : std::string();
}

// The text of a file that only this user can have written.
std::optional<std::string> read_own_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY));
  struct stat info = {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  const bool foreign = info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (foreign || info.st_size <= 0 || static_cast<uint64_t>(info.st_size) > kMaxRecordBytes) return std::nullopt;
  std::string text(static_cast<size_t>(info.st_size), '\0');
  if (::pread(file.get(), text.data(), text.size(), 0) != info.st_size) return std::nullopt;
  return text;
}

std::string record_text(const Record& record) {
  return Json::object({{"format", Json::integer(kFormat)},
                       {"key", Json::text(record.key)},
                       {"sha256", Json::text(record.sha256)},
                       {"version", Json::text(record.version)},
                       {"verdict", verdict_to_json(record.verdict)}})
      .dump(0);
}

std::optional<Record> parse_record(std::string_view text) {
  const Result<Json> json = parse_json(text, "probe record", {.max_bytes = kMaxRecordBytes});
  if (!json.ok() || !json->is(Json::Kind::object) || json->members().size() != 5) return std::nullopt;
  const Json* format = json->find("format");
  const Json* verdict_json = json->find("verdict");
  if (!format || !format->is(Json::Kind::integer) || format->as_integer() != kFormat || !verdict_json)
    return std::nullopt;
  Record record;
  for (const auto& [name, target] :
       {std::pair("key", &record.key), std::pair("sha256", &record.sha256), std::pair("version", &record.version)}) {
    const Json* member = json->find(name);
    if (!member || !member->is(Json::Kind::text)) return std::nullopt;
    *target = member->as_text();
  }
  Result<ProbeVerdict> verdict = verdict_from_json(*verdict_json);
  if (!verdict.ok() || verdict->end == ProbeVerdict::End::refused) return std::nullopt;
  record.verdict = *std::move(verdict);
  return record;
}

// What cannot be kept is only tried again.
void keep(const std::string& path, const Record& record) { (void)replace_file(path, record_text(record)); }

}  // namespace

std::optional<ProbeVerdict> ProbeCache::find(const ProbeRequest& request, const RegularFile& library,
                                             uint64_t dependencies) const {
  if (folder_.empty()) return std::nullopt;
  const std::string path = record_path(folder_, request);
  const std::optional<std::string> text = read_own_file(path);
  std::optional<Record> record = text ? parse_record(*text) : std::nullopt;
  if (!record || record->key != record_key(request, dependencies)) return std::nullopt;
  const std::string version = file_version(request.library_path, library);
  if (!version.empty() && version == record->version) return std::move(record->verdict);
  if (sha256_of(library) != record->sha256) return std::nullopt;
  if (!version.empty()) {  // the next one need not read the library
    record->version = version;
    keep(path, *record);
  }
  return std::move(record->verdict);
}

void ProbeCache::store(const ProbeRequest& request, const RegularFile& library, uint64_t dependencies,
                       const ProbeVerdict& verdict) const {
  if (folder_.empty()) return;
  const std::string path = record_path(folder_, request);
  if (verdict.end == ProbeVerdict::End::refused) {
    ::unlink(path.c_str());  // what was known before is no longer so
    return;
  }
  const std::string version = file_version(request.library_path, library);  // before the content: it can only be older
  const std::string sha256 = sha256_of(library);
  if (sha256.empty()) return;
  keep(path, {record_key(request, dependencies), sha256, version, verdict});
}

}  // namespace backplane
