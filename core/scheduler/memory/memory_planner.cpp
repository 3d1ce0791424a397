#include "scheduler/memory/memory_planner.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "backplane/base/text.hpp"
#include "scheduler/memory/arrangement.hpp"
#include "scheduler/memory/branch_and_bound.hpp"
#include "scheduler/memory/coarse_to_fine.hpp"
#include "scheduler/memory/event_order_fit.hpp"
#include "scheduler/memory/first_fit.hpp"
#include "scheduler/memory/fit_orders.hpp"
#include "scheduler/memory/live_bytes.hpp"
#include "scheduler/memory/squeaky_wheel.hpp"

namespace backplane {
namespace {

// A search that may take exponential time is tried for so many blocks, and with so much work, for each of its orders.
constexpr uint32_t kMostSearchedBlocks = 2000;
constexpr uint64_t kSearchComparisons = 200'000'000;

// Tries the methods in turn and keeps the best arrangement.
class Portfolio {
 public:
  Portfolio(const LiveBytes& live, uint64_t bound, uint64_t comparisons)
      : live_(live), bound_(bound), work_(comparisons) {}

  // Unless the peak is above the limit.
  void try_event_order(uint64_t limit) { keep(fit_in_event_order(live_, limit, work_), "event order"); }

  void try_first_fit(ChunkRule rule) {
    if (done()) return;
    FirstFit fit(live_, rule);
    work_.spend(live_.size());
    Arrangement best_fit;  // what comes of the best order, to be repaired
    std::vector<uint32_t> best_order;
    for (const FitOrder kind : kFitOrders) {
      if (done()) return;
      std::vector<uint32_t> order = make_fit_order(live_, kind);
      // Where nothing has been placed yet, any arrangement is better than none.
      const bool must_succeed = rule.limited() && best_.addresses.empty();
      Arrangement next = fit.place(order, best_fit.peak, must_succeed ? unlimited_ : work_);
      if (next.peak < best_fit.peak) {
        best_fit = next;
        best_order = std::move(order);
        keep(std::move(next), fit_order_name(kind));
      }
      if (kind == kFitOrders.front() && !rule.limited() && !done()) try_event_order(UINT64_MAX);
    }
    if (done() || best_order.empty()) return;
    OrderedArrangement coarse = fit_coarse_to_fine(live_, fit, best_order, bound_, best_fit.peak, work_);
    if (!coarse.order.empty()) best_order = std::move(coarse.order);
    keep(std::move(coarse.arrangement), "coarse to fine");
    if (!done()) keep(repair_order(live_, fit, std::move(best_order), bound_, best_.peak, work_), "squeaky wheel");
  }

  void try_search(uint64_t capacity) {
    for (const FitOrder kind : kFitOrders) {
      if (best_.peak <= capacity) return;
      WorkBudget work(kSearchComparisons);
      keep(search_within(live_, capacity, make_fit_order(live_, kind), work), "branch and bound");
      work_.spend(work.spent());
    }
  }

  const Arrangement& best() const { return best_; }
  std::string_view method() const { return method_; }
  uint64_t comparisons() const { return work_.spent() + unlimited_.spent(); }

 private:
  bool done() const { return best_.peak <= bound_ || (!best_.addresses.empty() && work_.exhausted()); }

  void keep(Arrangement next, std::string_view method) {
    if (next.peak >= best_.peak) return;
    best_ = std::move(next);
    method_ = method;
  }

  const LiveBytes& live_;
  const uint64_t bound_;
  WorkBudget work_;
  WorkBudget unlimited_{UINT64_MAX};
  Arrangement best_;
  std::string_view method_;
};

Status check_sizes(std::span<const MemoryBlock> blocks, uint64_t max_bytes) {
  for (size_t i = 0; i < blocks.size(); ++i)
    if (max_bytes != 0 && blocks[i].bytes > max_bytes)
      return resource_exhausted(
          cat("block ", i, " wants ", blocks[i].bytes, " bytes, and the largest buffer is ", max_bytes, " bytes"),
          "memory.block-too-large");
  return {};
}

uint64_t work_for(const LiveBytes& live, const MemoryLimits& limits) {
  uint64_t work = 0;
  return __builtin_mul_overflow(limits.comparisons_per_block, uint64_t{live.size()}, &work) ? UINT64_MAX / 2 : work;
}

MemoryPlan finish(const LiveBytes& live, const Portfolio& portfolio, const ChunkRule& rule, uint64_t bound,
                  size_t block_count) {
  MemoryPlan plan;
  plan.lower_bound_bytes = bound;
  plan.places.assign(block_count, {0, 0});
  plan.chunk_bytes.assign(1, 0);
  for (uint32_t i = 0; i < live.size(); ++i) {
    const LiveBytes::Block& block = live.blocks()[i];
    const uint64_t address = portfolio.best().addresses[i];
    const uint32_t chunk = rule.chunk(address);
    if (chunk >= plan.chunk_bytes.size()) plan.chunk_bytes.resize(size_t{chunk} + 1, 0);
    plan.places[block.original] = {chunk, rule.offset(address)};
    plan.chunk_bytes[chunk] =
        std::max(plan.chunk_bytes[chunk], std::min(rule.offset(address) + block.bytes, rule.max_bytes));
  }
  plan.peak_bytes = std::accumulate(plan.chunk_bytes.begin(), plan.chunk_bytes.end(), uint64_t{0});
  plan.method = portfolio.method();
  plan.comparisons = portfolio.comparisons();
  return plan;
}

}  // namespace

Result<MemoryPlan> plan_memory(std::span<const MemoryBlock> blocks, const MemoryLimits& limits) {
  BP_TRY(check_sizes(blocks, limits.max_chunk_bytes));
  BP_TRY_ASSIGN(const LiveBytes live, LiveBytes::make(blocks, limits.alignment));
  const bool limited = limits.max_chunk_bytes != 0 && live.total_bytes() > limits.max_chunk_bytes;
  Portfolio whole(live, live.most(), work_for(live, limits));
  if (!limited || live.most() <= limits.max_chunk_bytes) {
    whole.try_event_order(live.most());
    whole.try_first_fit({});
    if (!limited && limits.capacity_bytes != 0 && live.size() <= kMostSearchedBlocks)
      whole.try_search(limits.capacity_bytes);
    if (!limited || whole.best().peak <= limits.max_chunk_bytes)
      return finish(live, whole, {}, live.most(), blocks.size());
  }
  // The last block of each chunk need not be padded, so that with several of them only the bare sizes are a bound.
  const ChunkRule rule = ChunkRule::of(limits.max_chunk_bytes, limits.alignment);
  Portfolio chunked(live, live.most_bare(), work_for(live, limits));
  chunked.try_first_fit(rule);
  MemoryPlan plan = finish(live, chunked, rule, live.most_bare(), blocks.size());
  plan.comparisons += whole.comparisons();
  return plan;
}

}  // namespace backplane
