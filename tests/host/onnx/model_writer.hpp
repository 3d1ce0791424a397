// ModelWriter: serialises small models, so that tests need no model files, and imports and runs them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backplane/formats/onnx.hpp"
#include "model.hpp"

namespace backplane::onnx_import {

struct WriteOptions {
  std::string external_location;                 // not empty: initialisers are said to lie there
  std::string external_offset, external_length;  // not empty: at these bytes
  std::vector<int64_t> claimed_shape = {};       // not empty: the shape that initialisers claim to have
};

// The model as a .onnx file.
std::string write_model(const Model& model, const WriteOptions& options = {});

NodeDef make_node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                  std::vector<AttributeDef> attributes = {});
// An input; -1 = an open dimension, called "d<axis>".
OnnxInput make_input(std::string name, DType dtype, const std::vector<int64_t>& shape);
OnnxInput make_input(std::string name, OnnxInput::Kind kind, const std::vector<int64_t>& shape);  // f32 or strings
HostTensor f32s(std::vector<int64_t> shape, const std::vector<float>& values);
HostTensor i64s(std::vector<int64_t> shape, const std::vector<int64_t>& values);

Result<OnnxModel> import_model(const Model& model, const OnnxImportOptions& options = {});
// Imports with the values' shapes and runs with the reference evaluator. Fails the test on an error.
std::vector<HostTensor> run_model(const Model& model, const std::map<std::string, HostTensor>& values);
// Runs a graph with those of the values that it has inputs for.
std::vector<HostTensor> run_graph(const Graph& graph, const std::map<std::string, HostTensor>& values);
std::vector<float> floats(const HostTensor& tensor);

}  // namespace backplane::onnx_import
