// Recogniser: the text of one line.
//
// The model gives for each step along the line the chances of all characters; the best one of each step is taken,
// repetitions and blanks are dropped (CTC). Thread safety: calls are serialised by the caller.
#pragma once

#include <string>
#include <vector>

#include "backplane/formats/image.hpp"
#include "network.hpp"

namespace ocr {

struct TextLine {
  std::string text;  // UTF-8
  double score = 0;  // mean chance of its characters
};

class Recogniser {
 public:
  // `characters` are the model's, without the blank that comes before and the space that comes after them.
  Recogniser(Network network, std::vector<std::string> characters)
      : network_(std::move(network)), characters_(std::move(characters)) {}

  backplane::Result<TextLine> recognise(const backplane::Image& line);
  const Network& network() const { return network_; }

 private:
  Network network_;
  std::vector<std::string> characters_;
};

// One character a line. Errors: not_found.
backplane::Result<std::vector<std::string>> read_characters(const std::string& path);

// Decodes `steps` rows of chances: class 0 is the blank, then come the characters, then the space.
TextLine decode_ctc(const float* chances, size_t steps, size_t classes, const std::vector<std::string>& characters);

// A line scaled to the height of 48 that these models read, in -1..1, and padded with zeros to `width`.
backplane::Result<backplane::HostTensor> line_tensor(const backplane::Image& line, uint32_t width);

// The width that a line has at that height, in pixels.
uint32_t line_width(const backplane::Image& line);

}  // namespace ocr
