// ONNX models as Graphs.
//
// Dynamic dimensions are bound from the given shapes and values; constants and shape arithmetic are folded; functions
// of the model and of the standard are expanded; If is resolved where its condition is known, Loop and Scan are
// unrolled where the number of turns is. Inputs of at most 16 elements that reach a condition, a shape or an
// index are value-specialised: their values are part of the import, and the result names them.
//
// Graphs have tensors of numbers, models more. Strings are known at import: inputs of strings are always specialised,
// and outputs of strings are results of the import. A sequence `x` is the tensors `x[0]`, `x[1]` ..., as many as are
// given; an optional input is absent unless it is given.
//
// Weights are not copied: the graph reads them from the model's files, which are mapped and must not be cut off while
// it is used. External data lies in the model's folder, and nowhere else. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"
#include "backplane/graph/host_tensor.hpp"

namespace backplane {

// A tensor of strings: bytes, by convention UTF-8.
struct OnnxText {
  std::vector<int64_t> shape;
  std::vector<std::string> elements;  // as many as the shape has
  std::string to_string() const;      // "[\"Monday\", \"Tuesday\"]", abridged where it is long
};

struct OnnxInput {
  enum class Kind : uint8_t { tensor, text, sequence, optional, optional_sequence };
  struct Dim {
    int64_t extent = -1;  // -1 = dynamic
    std::string name;     // of a dynamic dimension; may be empty
  };
  std::string name;
  DType dtype = DType::kF32;
  std::vector<Dim> dims;
  bool has_shape = true;          // false: even the rank is open
  Kind kind = Kind::tensor;       // a sequence's type and shape are those of its elements
  std::string to_string() const;  // "x: f32 [?, 3, H, W]"
  // The tensor of that name, if it is one of those that are given for this input: `x`, or `x[2]` of a sequence.
  std::optional<OnnxInput> part(std::string_view name) const;
  bool is_sequence() const { return kind == Kind::sequence || kind == Kind::optional_sequence; }
};

// What a small file may at most cost: a few functions that call each other can stand for any number of nodes.
struct OnnxImportLimits {
  int64_t expanded_nodes = int64_t{1} << 20;   // nodes that functions, branches and turns of loops stand for
  int64_t folded_elements = int64_t{1} << 28;  // touched by folding; what exceeds them is computed at run time
};

struct OnnxImportOptions {
  std::map<std::string, std::vector<int64_t>> shapes;  // of inputs; need not name those that are static
  std::map<std::string, HostTensor> values;            // of inputs; their shapes count like `shapes`
  OnnxImportLimits limits = {};
  std::map<std::string, OnnxText> texts = {};  // values of inputs of strings
};

struct OnnxModel {
  std::shared_ptr<const Graph> graph;
  int64_t opset = 0;
  std::string producer;
  std::vector<std::string> specialised;  // inputs whose values are baked in: "sr = 16000"
  std::vector<std::string> notes;        // things worth knowing, such as an unused input or an unrolled loop
  std::vector<std::pair<std::string, OnnxText>> texts = {};  // outputs of strings, which the graph does not have
};

// What the model wants, without importing it. Errors: not_found; invalid_argument for a file that is not ONNX or is
// truncated, naming the file.
Result<std::vector<OnnxInput>> read_onnx_inputs(const std::string& path);

// Imports a model. Inputs whose values are specialised do not appear among the graph's inputs; the graph has no outputs
// if all of the model's are strings or empty. Errors: as above;
// invalid_argument for a wrong input name (with did-you-mean), type or shape, and for dimensions left open, naming
// each; unimplemented with one list of all unsupported ops, their nodes and versions; resource_exhausted beyond a
// limit, or where memory does not suffice.
Result<OnnxModel> import_onnx(const std::string& path, const OnnxImportOptions& options);

// The same from memory; `name` is for messages and `folder` is where external data lies.
Result<OnnxModel> import_onnx_bytes(std::string_view bytes, const std::string& name, const std::string& folder,
                                    const OnnxImportOptions& options);

}  // namespace backplane
