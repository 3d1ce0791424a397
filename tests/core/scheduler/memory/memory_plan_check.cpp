#include "memory_plan_check.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "backplane/base/text.hpp"

namespace backplane::testing {
namespace {

struct Event {
  uint64_t time;  // twice the step, and one more for the end of a life
  size_t block;
};

std::vector<Event> events_of(std::span<const MemoryBlock> blocks) {
  std::vector<Event> events;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].bytes == 0) continue;
    events.push_back({2 * uint64_t{blocks[i].first}, i});
    events.push_back({2 * uint64_t{blocks[i].last} + 1, i});
  }
  std::ranges::stable_sort(events, {}, &Event::time);
  return events;
}

std::string check_figures(const MemoryLimits& limits, const MemoryPlan& plan) {
  uint64_t total = 0;
  for (const uint64_t bytes : plan.chunk_bytes) {
    total += bytes;
    if (limits.max_chunk_bytes != 0 && bytes > limits.max_chunk_bytes) return "a chunk is larger than allowed";
  }
  if (plan.chunk_bytes.empty()) return "there is no chunk";
  if (total != plan.peak_bytes) return cat("the chunks have ", total, " bytes, the plan says ", plan.peak_bytes);
  if (plan.peak_bytes < plan.lower_bound_bytes) return "the peak is below the bound";
  if (plan.method.empty()) return "no method found it";
  return "";
}

}  // namespace

std::string check_memory_plan(std::span<const MemoryBlock> blocks, const MemoryLimits& limits, const MemoryPlan& plan) {
  if (std::string fault = check_figures(limits, plan); !fault.empty()) return fault;
  if (plan.places.size() != blocks.size()) return "blocks have no place";
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> taken;  // (chunk, begin) -> end
  uint64_t live = 0, most = 0;
  for (const Event& event : events_of(blocks)) {
    const MemoryPlan::Place& place = plan.places[event.block];
    const uint64_t bytes = blocks[event.block].bytes;
    if (event.time % 2 == 1) {
      taken.erase({place.chunk, place.offset});
      live -= bytes;
      continue;
    }
    most = std::max(most, live += bytes);
    if (place.offset % limits.alignment != 0) return cat("block ", event.block, " is misaligned");
    if (place.chunk >= plan.chunk_bytes.size() || place.offset + bytes > plan.chunk_bytes[place.chunk])
      return cat("block ", event.block, " leaves its chunk");
    const auto [at, fresh] = taken.try_emplace({place.chunk, place.offset}, place.offset + bytes);
    if (!fresh) return cat("block ", event.block, " is where another is");
    if (const auto next = std::next(at);
        next != taken.end() && next->first.first == place.chunk && next->first.second < at->second)
      return cat("block ", event.block, " reaches into the next");
    if (at != taken.begin() && std::prev(at)->first.first == place.chunk && std::prev(at)->second > place.offset)
      return cat("block ", event.block, " begins in another");
  }
  return most <= plan.lower_bound_bytes ? "" : cat(most, " bytes are alive at once, above the bound");
}

}  // namespace backplane::testing
