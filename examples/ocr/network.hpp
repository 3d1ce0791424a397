// Network: one model with one input and one output, prepared anew for each input shape it meets.
//
// Sessions are kept by shape. Ownership: the Runtime outlives it. Thread safety: calls are serialised by the caller.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backplane/scheduler/session.hpp"

namespace ocr {

// What has been done so far.
struct Usage {
  uint32_t runs = 0, prepared_shapes = 0;
  double prepare_ms = 0, run_ms = 0;
  uint32_t splits = 0, copies = 0;  // of the last run
  std::vector<std::string> split_devices;
};

class Network {
 public:
  // Errors: not_found for the file; invalid_argument for a model with other than one input.
  static backplane::Result<Network> open(backplane::Runtime& runtime, std::vector<backplane::Device*> devices,
                                         const std::string& path);

  backplane::Result<backplane::HostTensor> run(const backplane::HostTensor& input);
  const Usage& usage() const { return usage_; }

 private:
  Network() = default;
  backplane::Result<backplane::Session*> session(const std::vector<int64_t>& shape);

  backplane::Runtime* runtime_ = nullptr;
  std::vector<backplane::Device*> devices_;
  std::string path_, input_;
  std::map<std::vector<int64_t>, std::unique_ptr<backplane::Session>> sessions_;
  Usage usage_;
};

}  // namespace ocr
