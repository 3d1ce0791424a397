#include "scheduler/memory/input_batches.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "scheduler/memory/device_memory.hpp"

namespace backplane {
namespace {

// Larger inputs gain little from company.
constexpr uint64_t kMostBytes = 64 * 1024;
// All of a group keep their memory as long as any does.
constexpr uint64_t kMostGroupBytes = 1024 * 1024;

class Batcher {
 public:
  Batcher(const SplitInput& input, const std::vector<Device*>& devices, SplitResult& cut)
      : graph_(input.graph),
        capability_(input.capability),
        devices_(devices),
        cut_(cut),
        is_input_(graph_.storage_count(), false) {
    for (const Graph::Port& port : graph_.inputs()) is_input_[graph_.storage_of(port.tensor)] = true;
  }

  Status run() {
    find_seats();
    if (seats_.size() < 2) return {};
    std::ranges::stable_sort(cut_.copies, {}, [this](const PlannedCopy& copy) {
      return std::tuple(copy.split, copy.write_back, is_small_input(copy) ? seat_of_[copy.storage] : kNone);
    });
    for_neighbours([](const PlannedCopy&, PlannedCopy&, Seat&, Seat& seat) { seat.joins = true; });
    BP_TRY(group_homes());
    for_neighbours([this](const PlannedCopy& before, PlannedCopy& copy, Seat& seat_before, Seat& seat) {
      copy.joined = seat.joins && put_behind(cut_.instances.find(before.storage, copy.to), seat_before,
                                             cut_.instances.find(copy.storage, copy.to), seat);
    });
    return {};
  }

 private:
  // Of an input, in the order in which they are first copied.
  struct Seat {
    StorageId storage;
    bool joins = false;  // it lies behind the one before
    uint64_t bytes = 0;  // from its begin to that of the next one
  };

  // Inputs that nodes write are left alone: they are copied more than once.
  bool is_small_input(const PlannedCopy& copy) const {
    const Storage& storage = graph_.storage(copy.storage);
    return is_input_[copy.storage] && storage.writer == kNone && copy.from == cut_.home[copy.storage] &&
           (storage.flags & BP_TENSOR_STATE) == 0 && copy.rows == 1 && copy.row_bytes == storage.bytes &&
           storage.bytes != 0 && storage.bytes <= kMostBytes;
  }

  void find_seats() {
    seat_of_.assign(graph_.storage_count(), kNone);
    for (const PlannedCopy& copy : cut_.copies) {
      if (!is_small_input(copy)) continue;
      users_.insert({copy.from, copy.to});
      if (seat_of_[copy.storage] != kNone) continue;
      seat_of_[copy.storage] = static_cast<uint32_t>(seats_.size());
      seats_.push_back({copy.storage});
    }
  }

  // Calls visit(copy before, copy, seat before, seat) for copies before one split of inputs with seats beside each
  // other.
  template <class Visit>
  void for_neighbours(const Visit& visit) {
    for (size_t i = 1; i < cut_.copies.size(); ++i) {
      PlannedCopy &before = cut_.copies[i - 1], &copy = cut_.copies[i];
      if (before.split != copy.split || before.from != copy.from || !is_small_input(before) || !is_small_input(copy))
        continue;
      Seat &seat_before = seats_[seat_of_[before.storage]], &seat = seats_[seat_of_[copy.storage]];
      if (&seat_before + 1 == &seat) visit(before, copy, seat_before, seat);
    }
  }

  Status group_homes() {
    const std::vector<uint64_t> limits = capability_.buffer_limits(cut_.splits);
    for (const uint32_t device : users_) {
      alignment_ = std::max(alignment_, devices_[device]->memory_types()[kComputeMemtype].alignment);
      if (limits[device] != 0) most_bytes_ = std::min(most_bytes_, limits[device]);
    }
    for (size_t i = 1; i < seats_.size(); ++i) {
      if (!seats_[i].joins) continue;
      BP_TRY(measure(seats_[i - 1]));
      BP_TRY(measure(seats_[i]));
      seats_[i].joins = put_behind(seats_[i - 1].storage, seats_[i - 1], seats_[i].storage, seats_[i]);
    }
    return {};
  }

  // So that all devices have room for it, and the next one is aligned on all.
  Status measure(Seat& seat) {
    if (seat.bytes != 0) return {};
    for (const uint32_t device : users_) {
      BP_TRY_ASSIGN(const uint64_t bytes, storage_bytes(*devices_[device], graph_, seat.storage));
      seat.bytes = std::max(seat.bytes, std::min(bytes, most_bytes_ + 1));
    }
    seat.bytes = (seat.bytes + alignment_ - 1) / alignment_ * alignment_;
    return {};
  }

  // False if the group would be too large.
  bool put_behind(uint32_t before, const Seat& seat_before, uint32_t instance, const Seat& seat) {
    const bool goes_on = !cut_.groups.empty() && cut_.groups.back().members.back().instance == before;
    const uint64_t offset = goes_on ? cut_.groups.back().bytes : seat_before.bytes;
    if (offset + seat.bytes > most_bytes_) return false;
    if (!goes_on) cut_.groups.push_back({{{before, 0}}, offset});
    cut_.groups.back().members.push_back({instance, offset});
    cut_.groups.back().bytes = offset + seat.bytes;
    return true;
  }

  const Graph& graph_;
  const Capability& capability_;
  const std::vector<Device*>& devices_;
  SplitResult& cut_;
  std::vector<bool> is_input_;     // by storage
  std::vector<uint32_t> seat_of_;  // by storage
  std::vector<Seat> seats_;
  std::set<uint32_t> users_;  // devices that small inputs are on
  uint64_t alignment_ = 1, most_bytes_ = kMostGroupBytes;
};

}  // namespace

Status batch_inputs(const SplitInput& input, const std::vector<Device*>& devices, SplitResult& cut) {
  return Batcher(input, devices, cut).run();
}

}  // namespace backplane
