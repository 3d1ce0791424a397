// Classifier: whether a line of text stands on its head.
// Thread safety: calls are serialised by the caller.
#pragma once

#include "backplane/formats/image.hpp"
#include "network.hpp"

namespace ocr {

class Classifier {
 public:
  explicit Classifier(Network network) : network_(std::move(network)) {}

  // True when the model is sure that the line is turned by 180 degrees.
  backplane::Result<bool> is_upside_down(const backplane::Image& line);
  const Network& network() const { return network_; }

 private:
  Network network_;
};

}  // namespace ocr
