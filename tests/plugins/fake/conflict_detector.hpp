// Finds work that touches the same bytes at the same time. Whoever runs claims the address ranges that it reads and
// writes for as long as it runs, its random delay included; a claim that overlaps another, one of them a write, is a
// conflict. Addresses, not buffers: imports of one memory by several devices are seen.
// Thread safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace fake {

struct AccessRange {
  const std::byte* begin;
  uint64_t bytes;
  bool write;
  uint32_t part;  // which part of the work: the node of a submission

  bool conflicts_with(const AccessRange& other) const {
    return (write || other.write) && bytes != 0 && other.bytes != 0 && begin < other.begin + other.bytes &&
           other.begin < begin + bytes;
  }
};

// Describes a part of some work; called while it runs, and only for a conflict.
using DescribePart = std::function<std::string(uint32_t part)>;

class ConflictDetector {
  struct Active {
    std::vector<AccessRange> ranges;
    DescribePart describe;
  };

 public:
  // Holds ranges until it is destroyed.
  class Claim {
   public:
    Claim() = default;
    Claim(ConflictDetector& detector, std::list<Active>::iterator place) : detector_(&detector), place_(place) {}
    Claim(Claim&& other) noexcept : detector_(std::exchange(other.detector_, nullptr)), place_(other.place_) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim() {
      if (detector_ != nullptr) detector_->release(place_);
    }

   private:
    ConflictDetector* detector_ = nullptr;
    std::list<Active>::iterator place_;
  };

  Claim claim(std::vector<AccessRange> ranges, DescribePart describe);
  uint64_t count() const;
  std::string first() const;  // what met what in the first conflict; empty = none

 private:
  void release(std::list<Active>::iterator place);
  void note(const Active& a, const AccessRange& x, const Active& b, const AccessRange& y);

  mutable std::mutex mutex_;
  std::list<Active> active_;
  uint64_t count_ = 0;
  std::string first_;
};

}  // namespace fake
