#include "network.hpp"

#include <chrono>

#include "backplane/base/text.hpp"
#include "backplane/formats/onnx.hpp"

namespace ocr {

using namespace backplane;

namespace {

double since_ms(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Result<Network> Network::open(Runtime& runtime, std::vector<Device*> devices, const std::string& path) {
  BP_TRY_ASSIGN(const auto inputs, read_onnx_inputs(path));
  if (inputs.size() != 1) return invalid_argument(cat("'", path, "' has ", inputs.size(), " inputs, not one"));
  Network network;
  network.runtime_ = &runtime;
  network.devices_ = std::move(devices);
  network.path_ = path;
  network.input_ = inputs[0].name;
  return network;
}

Result<Session*> Network::session(const std::vector<int64_t>& shape) {
  std::unique_ptr<Session>& slot = sessions_[shape];
  if (slot) return slot.get();
  const auto start = std::chrono::steady_clock::now();
  OnnxImportOptions options;
  options.shapes[input_] = shape;
  BP_TRY_ASSIGN(const OnnxModel model, import_onnx(path_, options));
  if (model.graph->outputs().size() != 1) return invalid_argument(cat("'", path_, "' has more than one output"));
  BP_TRY_ASSIGN(slot, Session::prepare(*runtime_, model.graph, devices_));
  usage_.prepare_ms += since_ms(start);
  ++usage_.prepared_shapes;
  return slot.get();
}

Result<HostTensor> Network::run(const HostTensor& input) {
  BP_TRY_ASSIGN(Session* const prepared, session(input.shape()));
  BP_TRY(prepared->set_input(input_, input));
  BP_TRY(prepared->run());
  const RunStatistics& statistics = prepared->statistics();
  ++usage_.runs;
  usage_.run_ms += static_cast<double>(statistics.elapsed_ns) / 1e6;
  usage_.splits = statistics.split_count;
  usage_.copies = statistics.copy_count;
  usage_.split_devices.clear();
  for (const Split& split : prepared->plan().splits)
    usage_.split_devices.push_back(prepared->plan().device_names[split.device]);
  return prepared->output(prepared->graph().outputs()[0].name);
}

}  // namespace ocr
