// Case: a model of one node, imported and run by the reference evaluator; for tests of lowerings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model_writer.hpp"

namespace backplane::onnx_import {

using Ints = std::vector<int64_t>;

// One node "op" on x (and constants), with outputs y, y1 ...
struct Case {
  int64_t opset;
  std::string op;
  std::vector<AttributeDef> attributes;
  std::vector<std::pair<std::string, HostTensor>> constants;
  size_t outputs = 1;
};

inline std::vector<HostTensor> run_case(const Case& c, const HostTensor& x) {
  Model model{"", c.opset, "", {}};
  std::vector<std::string> inputs{"x"}, outputs;
  for (const auto& [name, value] : c.constants) inputs.push_back(name);
  for (size_t at = 0; at < c.outputs; ++at) outputs.push_back("y" + std::to_string(at));
  model.graph = {
      {make_node(c.op, inputs, outputs, c.attributes)}, c.constants, {make_input("x", x.dtype(), x.shape())}, outputs};
  std::vector<HostTensor> made = run_model(model, {{"x", x}});
  made.resize(c.outputs);
  return made;
}

}  // namespace backplane::onnx_import
