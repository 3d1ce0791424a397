// PoolOccupancy: how many bytes of one pool are taken by the tensors that are alive. Tensors that take turns within one
// task are alive together here and share their bytes, which count once. Thread safety: as a value.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "backplane/scheduler/plan.hpp"

namespace backplane {

class PoolOccupancy {
 public:
  PoolOccupancy(const Plan& plan, uint32_t pool);

  // A residence of the pool comes to life or, after that, ends; several runs may have it alive at once.
  void add(uint32_t residence);
  void remove(uint32_t residence);
  uint64_t bytes() const { return bytes_; }

 private:
  using Position = std::pair<uint32_t, uint64_t>;  // chunk, offset

  Position begin_of(uint32_t residence) const;
  Position end_of(uint32_t residence) const;
  // Calls visit(count of the segment, its bytes) for the segments that a residence covers.
  template <class Visit>
  void for_each_segment(uint32_t residence, Visit&& visit);

  const Plan& plan_;
  std::vector<Position> borders_;  // sorted; a segment goes from one to the next
  std::vector<uint32_t> counts_;   // by segment: how many are alive there
  uint64_t bytes_ = 0;
};

}  // namespace backplane
