// Model: an ONNX model as plain C++ values, free of protobuf.
//
// Tensors share the memory of the file or message they came from. Thread safety: values.
#pragma once

#include <cstdint>
#include <map>
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
  // In a function's body: the attribute of that name of the node that calls the function.
  struct Reference {
    std::string name;
  };
  using Value = std::variant<Other, Reference, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                             std::vector<std::string>, HostTensor, OnnxText, std::shared_ptr<const GraphDef>>;
  std::string name;
  Value value;
};

struct NodeDef {
  std::string op, domain, name;
  std::vector<std::string> inputs, outputs;  // empty = absent
  std::vector<AttributeDef> attributes;
  std::string overload = {};  // of the function that it calls

  // The attribute's value, or null.
  const AttributeDef::Value* find(std::string_view attribute) const;
  // "Conv 'conv_1'", or "Conv (writing 'y')" for a node without a name.
  std::string to_string() const;
};

struct GraphDef {
  std::vector<NodeDef> nodes;
  std::vector<std::pair<std::string, HostTensor>> initialisers;
  // Initialisers that are listed as inputs too are left out. Those of a node's graphs have a name only: they take the
  // type and shape of what they are given.
  std::vector<OnnxInput> inputs;
  std::vector<std::string> outputs;
  std::vector<std::pair<std::string, OnnxText>> texts = {};  // initialisers that are strings
};

// Domain -> version of the op set that nodes use; the domain of ONNX itself is "".
using Opsets = std::map<std::string, int64_t>;

// A function: nodes that stand for one node, of a model or of the standard.
struct FunctionDef {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<AttributeDef> defaults;  // of attributes that a call may leave out
  Opsets opsets;                       // of its nodes
  std::vector<NodeDef> nodes;

  // "com.example.Scale"
  std::string to_string() const;
};

struct Model {
  std::string name;  // of the file, for messages
  int64_t opset = 0;
  std::string producer;
  GraphDef graph;
  Opsets opsets = {};  // opset among them
  std::vector<FunctionDef> functions = {};
};

}  // namespace backplane::onnx_import
