// Comparison of outputs with values that are known to be right.
// Thread safety: pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/formats/onnx.hpp"
#include "backplane/graph/host_tensor.hpp"
#include "backplane/graph/tensor_difference.hpp"

namespace backplane::cli {

// The difference of one output, named.
struct Comparison : TensorDifference {
  std::string name;
  std::string worst_index;  // "[0, 2, 17]"
  std::string fault;        // another type or shape: nothing was compared

  bool fits() const { return fault.empty() && mismatches == 0; }
  // "output y: fits, 20 elements, max abs 1e-7 ..."
  std::string to_string() const;
  Json to_json() const;
};

Comparison compare_tensors(const std::string& name, const HostTensor& got, const HostTensor& expected,
                           const Tolerance& tolerance);

// Compares every output with out-NAME.npy in `folder`, and those of strings with out-NAME.json. Errors: not_found for
// an output without a file; invalid_argument for a file that belongs to no output, and when there is nothing to
// compare.
Result<std::vector<Comparison>> compare_with_folder(const std::vector<std::pair<std::string, HostTensor>>& outputs,
                                                    const std::vector<std::pair<std::string, OnnxText>>& texts,
                                                    const std::string& folder, const Tolerance& tolerance);

}  // namespace backplane::cli
