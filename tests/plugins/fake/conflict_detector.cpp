#include "conflict_detector.hpp"

#include <algorithm>

namespace fake {
namespace {

std::string text_of(const DescribePart& describe, const AccessRange& range) {
  return describe(range.part) + (range.write ? " writes " : " reads ") + std::to_string(range.bytes) + " bytes";
}

}  // namespace

ConflictDetector::Claim ConflictDetector::claim(std::vector<AccessRange> ranges, DescribePart describe) {
  const std::lock_guard lock(mutex_);
  const auto place = active_.insert(active_.end(), {std::move(ranges), std::move(describe)});
  for (auto other = active_.begin(); other != place; ++other)
    for (const AccessRange& range : place->ranges) {
      const auto met = std::find_if(other->ranges.begin(), other->ranges.end(),
                                    [&](const AccessRange& theirs) { return range.conflicts_with(theirs); });
      if (met == other->ranges.end()) continue;
      note(*other, *met, *place, range);
      break;
    }
  return {*this, place};
}

void ConflictDetector::note(const Active& a, const AccessRange& x, const Active& b, const AccessRange& y) {
  if (count_++ != 0) return;
  const std::byte* begin = std::max(x.begin, y.begin);
  const auto bytes = std::min(x.begin + x.bytes, y.begin + y.bytes) - begin;
  first_ = text_of(a.describe, x) + " while " + text_of(b.describe, y) + "; " + std::to_string(bytes) +
           " bytes are common, from byte " + std::to_string(begin - x.begin) + " of the former and " +
           std::to_string(begin - y.begin) + " of the latter";
}

uint64_t ConflictDetector::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::string ConflictDetector::first() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

void ConflictDetector::release(std::list<Active>::iterator place) {
  const std::lock_guard lock(mutex_);
  active_.erase(place);
}

}  // namespace fake
