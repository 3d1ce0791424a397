// Fit orders: in which orders first fit tries blocks: what is hard to place comes first.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "scheduler/memory/live_bytes.hpp"

namespace backplane {

enum class FitOrder {
  contention,  // the most bytes alive at once in the block's life, then bytes
  area,        // bytes times sections
  size,        // bytes
  size_class,  // bytes up to powers of two, then sections
  length,      // sections, then bytes
};

inline constexpr std::array kFitOrders = {FitOrder::contention, FitOrder::area, FitOrder::size, FitOrder::size_class,
                                          FitOrder::length};

std::string_view fit_order_name(FitOrder order);

// All blocks, the largest first; equal ones by number.
std::vector<uint32_t> make_fit_order(const LiveBytes& live, FitOrder order);

}  // namespace backplane
