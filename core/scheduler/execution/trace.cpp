#include "backplane/scheduler/trace.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "backplane/base/text.hpp"
#include "scheduler/execution/trace_json.hpp"

namespace backplane {

void Trace::reserve(size_t events) {
  const std::lock_guard lock(mutex_);
  events_.reserve(events);
}

void Trace::add(const TraceEvent& event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(event);
}

size_t Trace::size() const {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

void Trace::clear() {
  const std::lock_guard lock(mutex_);
  events_.clear();
}

Json Trace::to_json(const Plan& plan) const {
  const std::lock_guard lock(mutex_);
  return trace_json(plan, events_);
}

Status Trace::write(const Plan& plan, const std::string& path) const {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << to_json(plan).dump(-1) << '\n';
  file.close();
  if (file.good()) return {};
  return Status(Code::unavailable, cat("cannot write the trace to '", path, "'", errno == 0 ? "" : ": ",
                                       errno == 0 ? "" : strerror(errno)));
}

}  // namespace backplane
