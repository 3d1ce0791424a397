#include "scheduler/execution/pool_occupancy.hpp"

#include <algorithm>

namespace backplane {

PoolOccupancy::PoolOccupancy(const Plan& plan, uint32_t pool) : plan_(plan) {
  for (uint32_t residence = 0; residence < plan.residences.size(); ++residence) {
    if (plan.residences[residence].pool != pool) continue;
    borders_.push_back(begin_of(residence));
    borders_.push_back(end_of(residence));
  }
  std::ranges::sort(borders_);
  borders_.erase(std::unique(borders_.begin(), borders_.end()), borders_.end());
  counts_.resize(borders_.size());
}

PoolOccupancy::Position PoolOccupancy::begin_of(uint32_t residence) const {
  return {plan_.residences[residence].chunk, plan_.residences[residence].offset};
}

PoolOccupancy::Position PoolOccupancy::end_of(uint32_t residence) const {
  const Residence& place = plan_.residences[residence];
  return {place.chunk, place.offset + plan_.graph->storage(place.storage).bytes};
}

template <class Visit>
void PoolOccupancy::for_each_segment(uint32_t residence, Visit&& visit) {
  const Position end = end_of(residence);
  auto at = static_cast<size_t>(std::ranges::lower_bound(borders_, begin_of(residence)) - borders_.begin());
  for (; borders_[at] < end; ++at) visit(counts_[at], borders_[at + 1].second - borders_[at].second);
}

void PoolOccupancy::add(uint32_t residence) {
  for_each_segment(residence, [this](uint32_t& count, uint64_t bytes) {
    if (count++ == 0) bytes_ += bytes;
  });
}

void PoolOccupancy::remove(uint32_t residence) {
  for_each_segment(residence, [this](uint32_t& count, uint64_t bytes) {
    if (--count == 0) bytes_ -= bytes;
  });
}

}  // namespace backplane
