// Comparison of outputs with values that are known to be right.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/graph/host_tensor.hpp"

namespace backplane::cli {

struct Tolerance {
  double absolute = 1e-4;
  double relative = 1e-3;
};

// An element fits if |got - expected| <= absolute + relative * |expected|. NaN fits NaN only, an infinity itself only.
struct Comparison {
  std::string name;
  int64_t elements = 0, mismatches = 0;
  double max_absolute = 0;       // infinite where just one side is NaN or infinite
  double max_relative = 0;       // over expected values other than 0
  int64_t worst = -1;            // element furthest beyond (or nearest to) the tolerance; -1 = there are no elements
  std::string worst_index;       // "[0, 2, 17]"
  double got = 0, expected = 0;  // there
  std::string fault;             // another type or shape: nothing was compared

  bool fits() const { return fault.empty() && mismatches == 0; }
  // "output y: fits, 20 elements, max abs 1e-7 ..."
  std::string to_string() const;
  Json to_json() const;
};

Comparison compare_tensors(const std::string& name, const HostTensor& got, const HostTensor& expected,
                           const Tolerance& tolerance);

// Compares every output with out-NAME.npy in `folder`. Errors: not_found for an output without a file;
// invalid_argument for a file that belongs to no output, and when there is nothing to compare.
Result<std::vector<Comparison>> compare_with_folder(const std::vector<std::pair<std::string, HostTensor>>& outputs,
                                                    const std::string& folder, const Tolerance& tolerance);

}  // namespace backplane::cli
