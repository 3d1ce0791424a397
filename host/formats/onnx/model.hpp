// Model: an ONNX model as plain C++ values, free of protobuf.
//
// Tensors share the memory of the file or message they came from. Thread safety: values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "backplane/formats/onnx.hpp"
#include "backplane/graph/host_tensor.hpp"

namespace backplane::onnx_import {

struct GraphDef;

struct AttributeDef {
  // A kind of attribute that no lowering reads (sparse tensors, type protos ...): its name.
  struct Other {
    std::string kind;
  };
  using Value = std::variant<Other, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                             std::vector<std::string>, HostTensor, std::shared_ptr<const GraphDef>>;
  std::string name;
  Value value;
};

struct NodeDef {
  std::string op, domain, name;
  std::vector<std::string> inputs, outputs;  // empty = absent
  std::vector<AttributeDef> attributes;

  // The attribute's value, or null.
  const AttributeDef::Value* find(std::string_view attribute) const;
  // "Conv 'conv_1'", or "Conv (writing 'y')" for a node without a name.
  std::string to_string() const;
};

struct GraphDef {
  std::vector<NodeDef> nodes;
  std::vector<std::pair<std::string, HostTensor>> initialisers;
  std::vector<OnnxInput> inputs;  // initialisers that are listed as inputs too are left out
  std::vector<std::string> outputs;
};

struct Model {
  std::string name;  // of the file, for messages
  int64_t opset = 0;
  std::string producer;
  GraphDef graph;
};

}  // namespace backplane::onnx_import
