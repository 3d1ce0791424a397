#include "proto_reader.hpp"

#include <onnx/onnx_pb.h>

#include <charconv>
#include <climits>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "backplane/base/text.hpp"
#include "file_map.hpp"
#include "lean_model.hpp"
#include "model_types.hpp"

namespace backplane::onnx_import {
namespace {

namespace fs = std::filesystem;
using ::google::protobuf::RepeatedPtrField;
using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::OperatorSetIdProto;
using ::onnx::TensorProto;
using ::onnx::TypeProto;
using ::onnx::ValueInfoProto;

// Weights from this size on stay where they are.
constexpr size_t kLargeBytes = size_t{1} << 16;

// Nested subgraphs beyond this are no honest model, and conversion recurses over them.
constexpr int kMaxSubgraphDepth = 24;

std::string domain_of(const std::string& written) { return written == "ai.onnx" ? std::string() : written; }

// The values of a field, of bytes, that ONNX has and the classes of libonnx_proto do not know yet.
std::vector<std::string> newer_fields(const google::protobuf::Message& proto, int number) {
  const google::protobuf::UnknownFieldSet& fields = proto.GetReflection()->GetUnknownFields(proto);
  std::vector<std::string> values;
  for (int at = 0; at < fields.field_count(); ++at) {
    const google::protobuf::UnknownField& field = fields.field(at);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      values.push_back(field.length_delimited());
    }
  }
  return values;
}

std::string newer_field(const google::protobuf::Message& proto, int number) {
  const std::vector<std::string> values = newer_fields(proto, number);
  return values.empty() ? std::string() : values.back();
}

// Errors: invalid_argument for a version of ONNX's own op set that is not supported.
Result<Opsets> opsets_of(const RepeatedPtrField<OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const OperatorSetIdProto& import : imports) {
    int64_t& version = opsets[domain_of(import.domain())];
    version = std::max(version, import.version());
  }
  const auto found = opsets.find("");
  if (found != opsets.end() && (found->second < kOldestOpset || found->second > kNewestOpset)) {
    return invalid_argument(cat("opset ", found->second, " is not supported; ", kOldestOpset, " to ", kNewestOpset,
                                " are: convert the model with ONNX's version converter"));
  }
  return opsets;
}

// Fills a tensor from a list of a message, whose elements may be wider than the tensor's.
template <class Stored, class List>
HostTensor narrow(HostTensor tensor, const List& list) {
  Stored* to = tensor.mutable_data<Stored>();
  for (const auto value : list) *to++ = static_cast<Stored>(value);
  return tensor;
}

class ProtoReader {
 public:
  // `keeper` owns all messages that are read; `file` is what tensors in kThisFile lie in.
  ProtoReader(std::shared_ptr<const void> keeper, std::string folder, Serialised file)
      : keeper_(std::move(keeper)), folder_(std::move(folder)), file_(std::move(file)) {}

  Result<GraphDef> graph(const GraphProto& proto, int depth);
  Result<FunctionDef> function(const FunctionProto& proto);

 private:
  Result<NodeDef> node(const NodeProto& proto, int depth);
  Result<std::vector<NodeDef>> nodes(const RepeatedPtrField<NodeProto>& protos, int depth);
  Result<AttributeDef::Value> attribute(const AttributeProto& proto, int depth);
  Result<HostTensor> tensor(const TensorProto& proto);
  Result<OnnxText> text(const TensorProto& proto);
  Result<HostTensor> listed(const TensorProto& proto, DType dtype, std::vector<int64_t> shape);
  Result<HostTensor> shared(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes,
                            std::shared_ptr<const void> keeper, const FileMap* file = nullptr);
  Result<HostTensor> external(const TensorProto& proto, DType dtype, std::vector<int64_t> shape);
  Result<Serialised> external_file(const std::string& location);
  Result<OnnxInput> input(const ValueInfoProto& proto);

  std::shared_ptr<const void> keeper_;
  std::string folder_;
  Serialised file_;
  std::map<std::string, Serialised> files_;
};

Result<HostTensor> ProtoReader::tensor(const TensorProto& proto) {
  const std::string what = cat("tensor '", proto.name(), "'");
  const std::optional<DType> dtype = dtype_of_onnx(proto.data_type());
  if (!dtype) return unimplemented(cat(what, " has ONNX element type ", proto.data_type(), ", which is not supported"));
  std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  Result<HostTensor> made = [&]() -> Result<HostTensor> {
    BP_TRY(dense_bytes(*dtype, shape).status());
    if (proto.has_segment()) return unimplemented("it is stored in segments");
    if (proto.data_location() == TensorProto::EXTERNAL) return external(proto, *dtype, shape);
    if (!proto.has_raw_data()) return listed(proto, *dtype, shape);
    const std::string& raw = proto.raw_data();
    return shared(*dtype, shape, std::as_bytes(std::span(raw.data(), raw.size())), keeper_);
  }();
  if (!made.ok()) return made.status().with_context(what);
  return made;
}

Result<OnnxText> ProtoReader::text(const TensorProto& proto) {
  OnnxText made{{proto.dims().begin(), proto.dims().end()}, {proto.string_data().begin(), proto.string_data().end()}};
  const Result<int64_t> wanted = element_count(made.shape);
  if (wanted.ok() && *wanted == proto.string_data_size()) return made;
  return invalid_argument(cat("tensor '", proto.name(), "': shape ", shape_text(made.shape), " of strings has ",
                              proto.string_data_size(), " of them; the file is damaged or truncated"));
}

Result<HostTensor> ProtoReader::shared(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> keeper, const FileMap* file) {
  BP_TRY_ASSIGN(const uint64_t wanted, dense_bytes(dtype, shape));
  if (wanted != bytes.size()) {
    return invalid_argument(cat("shape ", shape_text(shape), " of ", type_name(dtype), " needs ", wanted,
                                " bytes, found ", bytes.size(), "; the file is damaged or truncated"));
  }
  // What is large may be unaligned: sessions copy such weights once, into the memory of the device that reads them.
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % type_layout(dtype).block_bytes == 0;
  const bool stays = aligned || (bytes.size() >= kLargeBytes && is_float(dtype));
  if (stays && dtype != DType::kBOOL)
    return HostTensor::borrow(dtype, std::move(shape), bytes, std::move(keeper), file);
  BP_TRY_ASSIGN(HostTensor copy, HostTensor::zeros(dtype, std::move(shape)));
  if (dtype == DType::kBOOL) {  // a bool is 0 or 1, whatever the file holds
    for (size_t at = 0; at < bytes.size(); ++at) copy.mutable_bytes()[at] = std::byte{bytes[at] != std::byte{0}};
  } else if (!bytes.empty()) {
    std::memcpy(copy.mutable_bytes().data(), bytes.data(), bytes.size());
  }
  return copy;
}

Result<HostTensor> ProtoReader::listed(const TensorProto& proto, DType dtype, std::vector<int64_t> shape) {
  BP_TRY_ASSIGN(const int64_t wanted, element_count(shape));
  const bool from_i32 = dtype != DType::kF32 && dtype != DType::kF64 && dtype != DType::kI64 && dtype != DType::kU64 &&
                        dtype != DType::kU32;
  const int64_t found = dtype == DType::kF32   ? proto.float_data_size()
                        : dtype == DType::kF64 ? proto.double_data_size()
                        : dtype == DType::kI64 ? proto.int64_data_size()
                        : from_i32             ? proto.int32_data_size()
                                               : proto.uint64_data_size();
  // Before anything is allocated: an absurd shape must not cost memory.
  if (wanted != found) {
    return invalid_argument(cat("shape ", shape_text(shape), " of ", type_name(dtype), " needs ", wanted,
                                " elements, found ", found, "; the file is damaged or truncated"));
  }
  BP_TRY_ASSIGN(HostTensor made, HostTensor::zeros(dtype, std::move(shape)));
  switch (dtype) {
    case DType::kF32:
      return narrow<float>(std::move(made), proto.float_data());
    case DType::kF64:
      return narrow<double>(std::move(made), proto.double_data());
    case DType::kI64:
      return narrow<int64_t>(std::move(made), proto.int64_data());
    case DType::kU64:
      return narrow<uint64_t>(std::move(made), proto.uint64_data());
    case DType::kU32:
      return narrow<uint32_t>(std::move(made), proto.uint64_data());
    case DType::kI32:
      return narrow<int32_t>(std::move(made), proto.int32_data());
    case DType::kI8:
    case DType::kU8:
      return narrow<uint8_t>(std::move(made), proto.int32_data());
    case DType::kBOOL:
      return narrow<bool>(std::move(made), proto.int32_data());
    default:
      return narrow<uint16_t>(std::move(made), proto.int32_data());  // i16, u16, and the bits of f16, bf16
  }
}

Result<Serialised> ProtoReader::external_file(const std::string& location) {
  if (location == kThisFile && file_.keeper) return file_;
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  const fs::path path(location);
  if (location.empty() || path.is_absolute() || location.find('\0') != std::string::npos) {
    return invalid_argument(cat("external data at '", location, "': the location must be relative to the model"));
  }
  // Both sides resolved, so that neither ".." nor a symbolic link leads out of the model's folder.
  std::error_code error;
  const fs::path root = fs::weakly_canonical(folder_.empty() ? fs::path(".") : fs::path(folder_), error);
  const fs::path full = error ? fs::path() : fs::weakly_canonical(root / path, error);
  const fs::path inside = full.lexically_relative(root);
  if (error || inside.empty() || *inside.begin() == "..") {
    return invalid_argument(cat("external data at '", location, "' lies outside of the model's folder"));
  }
  BP_TRY_ASSIGN(const std::shared_ptr<const FileMap> map, FileMap::open(full.string()));
  return files_.emplace(location, Serialised{map->bytes(), map}).first->second;
}

Result<HostTensor> ProtoReader::external(const TensorProto& proto, DType dtype, std::vector<int64_t> shape) {
  std::string location;
  std::optional<uint64_t> offset, length;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    uint64_t number = 0;
    const char* end = entry.value().data() + entry.value().size();
    const auto parsed = std::from_chars(entry.value().data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      return invalid_argument(cat("external data has ", entry.key(), " '", entry.value(), "', want a number of bytes"));
    }
    (entry.key() == "offset" ? offset : length) = number;
  }
  BP_TRY_ASSIGN(const Serialised file, external_file(location));
  const uint64_t start = offset.value_or(0);
  const uint64_t size = file.bytes.size();
  if (start > size || length.value_or(0) > size - start) {
    return invalid_argument(cat("external data '", location, "' has ", size, " bytes, but the tensor wants ",
                                length.value_or(0), " at ", start, "; the file is truncated or not the model's"));
  }
  BP_TRY_ASSIGN(const uint64_t wanted, dense_bytes(dtype, shape));
  const uint64_t taken = length ? *length : std::min(wanted, size - start);
  return shared(dtype, std::move(shape), file.bytes.subspan(start, taken), file.keeper, file.keeper.get());
}

Result<AttributeDef::Value> ProtoReader::attribute(const AttributeProto& proto, int depth) {
  using Value = AttributeDef::Value;
  if (!proto.ref_attr_name().empty()) return Value(AttributeDef::Reference{proto.ref_attr_name()});
  switch (proto.type()) {
    case AttributeProto::INT:
      return Value(proto.i());
    case AttributeProto::FLOAT:
      return Value(static_cast<double>(proto.f()));
    case AttributeProto::STRING:
      return Value(proto.s());
    case AttributeProto::INTS:
      return Value(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::FLOATS:
      return Value(std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::STRINGS:
      return Value(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case AttributeProto::TENSOR: {
      if (proto.t().data_type() == TensorProto::STRING) {
        BP_TRY_ASSIGN(OnnxText value, text(proto.t()));
        return Value(std::move(value));
      }
      BP_TRY_ASSIGN(HostTensor value, tensor(proto.t()));
      return Value(std::move(value));
    }
    case AttributeProto::GRAPH: {
      BP_TRY_ASSIGN(GraphDef value, graph(proto.g(), depth + 1));
      return Value(std::make_shared<const GraphDef>(std::move(value)));
    }
    default:
      return Value(AttributeDef::Other{AttributeProto::AttributeType_Name(proto.type())});
  }
}

Result<NodeDef> ProtoReader::node(const NodeProto& proto, int depth) {
  NodeDef made;
  made.op = proto.op_type();
  made.domain = domain_of(proto.domain());
  made.name = proto.name();
  made.overload = newer_field(proto, 8);
  made.inputs.assign(proto.input().begin(), proto.input().end());
  made.outputs.assign(proto.output().begin(), proto.output().end());
  for (const AttributeProto& item : proto.attribute()) {
    Result<AttributeDef::Value> value = attribute(item, depth);
    if (!value.ok()) return value.status().with_context(made.to_string());
    made.attributes.push_back({item.name(), std::move(value).value()});
  }
  return made;
}

Result<OnnxInput> ProtoReader::input(const ValueInfoProto& proto) {
  OnnxInput made;
  made.name = proto.name();
  const bool is_optional = proto.type().has_optional_type();
  const TypeProto& present = is_optional ? proto.type().optional_type().elem_type() : proto.type();
  const bool is_sequence = present.has_sequence_type();
  const TypeProto& element = is_sequence ? present.sequence_type().elem_type() : present;
  if (!element.has_tensor_type()) {
    return unimplemented(cat("input '", made.name, "' is neither a tensor nor a sequence of tensors"));
  }
  using Kind = OnnxInput::Kind;
  made.kind = is_optional   ? is_sequence ? Kind::optional_sequence : Kind::optional
              : is_sequence ? Kind::sequence
                            : Kind::tensor;
  const auto& type = element.tensor_type();
  const std::optional<DType> dtype = dtype_of_onnx(type.elem_type());
  if (type.elem_type() == TensorProto::STRING && made.kind == Kind::tensor) {
    made.kind = Kind::text;
  } else if (!dtype) {
    return unimplemented(
        cat("input '", made.name, "' has ONNX element type ", type.elem_type(), ", which is not supported"));
  }
  made.dtype = dtype.value_or(DType::kU8);
  made.has_shape = type.has_shape();
  for (const auto& dim : type.shape().dim()) {
    // Some exporters write -1 or 0 for "any"; a real extent of 0 would make the model useless.
    const bool is_static = dim.has_dim_value() && dim.dim_value() > 0;
    made.dims.push_back({is_static ? dim.dim_value() : -1, dim.dim_param()});
  }
  return made;
}

Result<GraphDef> ProtoReader::graph(const GraphProto& proto, int depth) {
  if (depth > kMaxSubgraphDepth) {
    return invalid_argument(cat("graphs are nested more than ", kMaxSubgraphDepth, " deep"));
  }
  if (proto.sparse_initializer_size() > 0) return unimplemented("sparse initialisers are not supported");
  GraphDef made;
  std::set<std::string_view> initialised;
  for (const TensorProto& item : proto.initializer()) {
    initialised.insert(item.name());
    if (item.data_type() == TensorProto::STRING) {
      BP_TRY_ASSIGN(OnnxText value, text(item));
      made.texts.emplace_back(item.name(), std::move(value));
      continue;
    }
    BP_TRY_ASSIGN(HostTensor value, tensor(item));
    made.initialisers.emplace_back(item.name(), std::move(value));
  }
  for (const ValueInfoProto& item : proto.input()) {
    if (initialised.count(item.name())) continue;  // its default value is all that is ever used
    if (depth > 0) {
      made.inputs.push_back({item.name(), {}, {}, false});
      continue;
    }
    BP_TRY_ASSIGN(OnnxInput value, input(item));
    made.inputs.push_back(std::move(value));
  }
  for (const ValueInfoProto& item : proto.output()) made.outputs.push_back(item.name());
  BP_TRY_ASSIGN(made.nodes, nodes(proto.node(), depth));
  return made;
}

Result<std::vector<NodeDef>> ProtoReader::nodes(const RepeatedPtrField<NodeProto>& protos, int depth) {
  std::vector<NodeDef> made;
  made.reserve(static_cast<size_t>(protos.size()));
  for (const NodeProto& item : protos) {
    BP_TRY_ASSIGN(NodeDef value, node(item, depth));
    made.push_back(std::move(value));
  }
  return made;
}

Result<FunctionDef> ProtoReader::function(const FunctionProto& proto) {
  FunctionDef made;
  made.name = proto.name();
  made.domain = domain_of(proto.domain());
  made.overload = newer_field(proto, 13);
  made.inputs.assign(proto.input().begin(), proto.input().end());
  made.outputs.assign(proto.output().begin(), proto.output().end());
  Result<FunctionDef> result = [&]() -> Result<FunctionDef> {
    BP_TRY_ASSIGN(made.opsets, opsets_of(proto.opset_import()));
    for (const std::string& field : newer_fields(proto, 11)) {
      AttributeProto item;
      if (!item.ParsePartialFromString(field)) return invalid_argument("an attribute's default cannot be parsed");
      BP_TRY_ASSIGN(AttributeDef::Value value, attribute(item, 0));
      made.defaults.push_back({item.name(), std::move(value)});
    }
    BP_TRY_ASSIGN(made.nodes, nodes(proto.node(), 0));
    return std::move(made);
  }();
  if (!result.ok()) return result.status().with_context(cat("function ", proto.domain(), ".", proto.name()));
  return result;
}

Result<std::shared_ptr<const ModelProto>> parse(std::span<const std::byte> bytes) {
  if (bytes.size() > INT_MAX) {
    return invalid_argument(cat("the file has ", bytes_text(bytes.size()),
                                "; protobuf files end at 2 GiB: store the weights as external data"));
  }
  auto proto = std::make_shared<ModelProto>();
  // The "partial" call does not print when it fails; ONNX has no required fields, so it is as strict.
  if (!proto->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return invalid_argument("not an ONNX model, or truncated: its protobuf cannot be parsed");
  }
  return std::shared_ptr<const ModelProto>(std::move(proto));
}

Result<Model> convert(const Serialised& file, const std::string& name, const std::string& folder) {
  if (file.bytes.empty()) return invalid_argument("the file is empty");
  BP_TRY(check_fields(file.bytes));
  const std::optional<std::string> lean = file.keeper ? lean_model(file.bytes, kLargeBytes) : std::nullopt;
  BP_TRY_ASSIGN(const std::shared_ptr<const ModelProto> proto,
                parse(lean ? std::as_bytes(std::span(*lean)) : file.bytes));
  if (!proto->has_graph() || proto->opset_import_size() == 0) {
    return invalid_argument(
        cat("not an ONNX model, or truncated: it has no ", proto->has_graph() ? "opset_import" : "graph"));
  }
  Model model;
  model.name = name;
  model.producer = proto->producer_name();
  BP_TRY_ASSIGN(model.opsets, opsets_of(proto->opset_import()));
  model.opset = model.opsets[""];
  ProtoReader reader(proto, folder, file);
  BP_TRY_ASSIGN(model.graph, reader.graph(proto->graph(), 0));
  for (const FunctionProto& item : proto->functions()) {
    BP_TRY_ASSIGN(FunctionDef function, reader.function(item));
    model.functions.push_back(std::move(function));
  }
  return model;
}

// protobuf and the filesystem library throw, on exhausted memory at least.
template <class Read>
auto guarded(Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const std::exception& error) {
    return resource_exhausted(cat("reading failed: ", error.what()));
  }
}

}  // namespace

Result<Model> read_model(const Serialised& file, const std::string& name, const std::string& folder) {
  Result<Model> model = guarded([&] { return convert(file, name, folder); });
  if (!model.ok()) return model.status().with_context(name);
  return model;
}

Result<FunctionDef> read_function(std::string_view bytes) {
  return guarded([&]() -> Result<FunctionDef> {
    auto proto = std::make_shared<FunctionProto>();
    if (!proto->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return invalid_argument("the function's protobuf cannot be parsed");
    }
    return ProtoReader(proto, {}, {}).function(*proto);
  });
}

}  // namespace backplane::onnx_import
