// What loading and running a model of big weights costs in time and resident memory:
//   big_model_bench <plugin folder> [<MiB of weights> [external | inline | table]]
// external: a chain of matmuls whose weights lie in a file of their own; inline: in the model's file; table: rows of
// one external table are gathered, so that few of the weights are touched. The model is written to the folder for
// temporary files, by a process of its own, whose memory does not count.
#include <onnx/onnx_pb.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "backplane/formats/onnx.hpp"
#include "backplane/scheduler/session.hpp"

namespace {

using namespace backplane;
namespace fs = std::filesystem;

constexpr int64_t kWidth = 4096;
constexpr int64_t kMatrixBytes = kWidth * kWidth * 4;
constexpr int64_t kRowBytes = kWidth * 4;
constexpr int64_t kRows = 16;  // that are gathered of a table

struct Arguments {
  std::string plugins;
  int64_t mebibytes = 2048;
  std::string kind = "external";
};

// Small numbers around 0, so that a long chain stays finite.
std::string weights(int64_t count, uint32_t seed) {
  std::string bytes(static_cast<size_t>(count) * 4, '\0');
  auto* values = reinterpret_cast<float*>(bytes.data());
  for (int64_t at = 0; at < count; ++at) {
    seed = seed * 1664525 + 1013904223;
    values[at] = (static_cast<float>(seed >> 8) / 16777216.0F - 0.5F) / 32;
  }
  return bytes;
}

class ModelWriter {
 public:
  ModelWriter(const fs::path& folder, bool is_external) : folder_(folder), is_external_(is_external) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(13);
    model_.mutable_graph()->set_name("big");
    if (is_external) data_.open(folder / "weights.bin", std::ios::binary);
  }

  // A weight of pieces of at most one matrix, so that writing needs little memory.
  void weight(const std::string& name, int64_t rows) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(rows);
    tensor.add_dims(kWidth);
    if (!is_external_) return tensor.set_raw_data(weights(rows * kWidth, ++seed_));
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    entry(tensor, "location", "weights.bin");
    entry(tensor, "offset", std::to_string(data_.tellp()));
    entry(tensor, "length", std::to_string(rows * kRowBytes));
    for (int64_t row = 0; row < rows; row += kWidth) {
      const std::string piece = weights(std::min(kWidth, rows - row) * kWidth, ++seed_);
      data_.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    }
  }

  void node(const std::string& op, const std::string& a, const std::string& b, const std::string& y) {
    onnx::NodeProto& node = *model_.mutable_graph()->add_node();
    node.set_op_type(op);
    node.add_input(a);
    node.add_input(b);
    node.add_output(y);
  }

  void finish(const std::string& output, int type, const std::vector<int64_t>& input_shape) {
    onnx::ValueInfoProto& input = *model_.mutable_graph()->add_input();
    input.set_name("x");
    auto& tensor = *input.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (const int64_t extent : input_shape) tensor.mutable_shape()->add_dim()->set_dim_value(extent);
    model_.mutable_graph()->add_output()->set_name(output);
    std::ofstream file(folder_ / "model.onnx", std::ios::binary);
    model_.SerializeToOstream(&file);
  }

 private:
  static void entry(onnx::TensorProto& tensor, const std::string& key, const std::string& value) {
    auto& item = *tensor.add_external_data();
    item.set_key(key);
    item.set_value(value);
  }

  fs::path folder_;
  bool is_external_;
  onnx::ModelProto model_;
  std::ofstream data_;
  uint32_t seed_ = 0;
};

void write_model(const Arguments& arguments, const fs::path& folder) {
  ModelWriter writer(folder, arguments.kind != "inline");
  const int64_t bytes = arguments.mebibytes << 20;
  if (arguments.kind == "table") {
    writer.weight("table", bytes / kRowBytes);
    writer.node("Gather", "table", "x", "y");
    return writer.finish("y", onnx::TensorProto::INT64, {kRows});
  }
  // protobuf ends at 2 GiB, messages and all.
  const int64_t count =
      std::max<int64_t>(1, bytes / kMatrixBytes - (arguments.kind == "inline" && bytes >> 31 ? 1 : 0));
  std::string last = "x";
  for (int64_t at = 0; at < count; ++at) {
    const std::string number = std::to_string(at);
    writer.weight("w" + number, kWidth);
    writer.node("MatMul", last, "w" + number, "y" + number);
    last = "y" + number;
  }
  writer.finish(last, onnx::TensorProto::FLOAT, {1, kWidth});
}

// Runs `body` in a process of its own.
bool in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::_Exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// MiB, by the name that /proc/self/status gives it.
double resident(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(name + ":", 0) == 0) return std::stod(line.substr(name.size() + 1)) / 1024;
  }
  return 0;
}

class Clock {
 public:
  // Milliseconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double took = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return took;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Result<HostTensor> input_value(const std::string& kind, int64_t rows) {
  if (kind != "table") {
    const std::string bytes = weights(kWidth, 7);
    return HostTensor::of<float>(DType::kF32, {1, kWidth}, {reinterpret_cast<const float*>(bytes.data()), kWidth});
  }
  std::vector<int64_t> indices;
  for (int64_t at = 0; at < kRows; ++at) indices.push_back(at * (rows - 1) / (kRows - 1));
  return HostTensor::of<int64_t>(DType::kI64, {kRows}, std::span<const int64_t>(indices));
}

Status measure(const Arguments& arguments, const fs::path& folder) {
  RuntimeOptions options;
  options.plugin_paths = {arguments.plugins};
  options.search_system = false;
  BP_TRY_ASSIGN(const std::unique_ptr<Runtime> runtime, Runtime::open(std::move(options)));
  const double before = resident("VmRSS");
  Clock clock;
  BP_TRY_ASSIGN(const OnnxModel model, import_onnx((folder / "model.onnx").string(), {}));
  std::cout << "import " << clock.lap() << " ms, then resident " << resident("VmRSS") - before << " MiB more\n";
  BP_TRY_ASSIGN(const std::unique_ptr<Session> session, Session::prepare(*runtime, model.graph));
  std::cout << "prepare " << clock.lap() << " ms, then resident " << resident("VmRSS") - before << " MiB more\n";
  BP_TRY_ASSIGN(const HostTensor x, input_value(arguments.kind, (arguments.mebibytes << 20) / kRowBytes));
  BP_TRY(session->set_input("x", x));
  clock.lap();
  BP_TRY(session->run());
  std::cout << "first run " << clock.lap() << " ms";
  BP_TRY(session->run());
  std::cout << ", second " << clock.lap() << " ms\n";
  std::cout << "resident " << resident("VmRSS") - before << " MiB more (now: anonymous " << resident("RssAnon")
            << ", file " << resident("RssFile") << "), at most " << resident("VmHWM") - before << "\n";
  return ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: " << argv[0] << " <plugin folder> [<MiB of weights> [external | inline | table]]\n";
    return 2;
  }
  Arguments arguments{argv[1]};
  if (argc > 2) arguments.mebibytes = std::max<int64_t>(1, std::atoll(argv[2]));
  if (argc > 3) arguments.kind = argv[3];
  std::string folder = (fs::temp_directory_path() / "backplane-big-model-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr || !in_child([&] { write_model(arguments, folder); })) {
    std::cerr << "the model could not be written to " << folder << "\n";
    return 1;
  }
  const Status status = measure(arguments, folder);
  fs::remove_all(folder);
  if (!status.ok()) std::cerr << status.to_string() << "\n";
  return status.ok() ? 0 : 1;
}
