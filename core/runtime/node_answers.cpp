#include "backplane/runtime/node_answers.hpp"

namespace backplane {

std::string_view NodeAnswers::reason(size_t at) const {
  const uint32_t begin = answers_[at].reason_at;
  if (begin == BP_NONE || begin >= text_.size()) return {};
  const std::string_view rest = std::string_view(text_).substr(begin);
  return rest.substr(0, rest.find('\0'));
}

void NodeAnswers::set(size_t at, uint32_t verdict, std::string_view reason) {
  answers_[at] = {verdict, BP_NONE, 0};
  if (reason.empty() || text_.size() >= BP_NONE) return;
  text_.push_back('\0');  // ends a text that the plugin did not
  answers_[at].reason_at = static_cast<uint32_t>(text_.size());
  text_.append(reason);
}

}  // namespace backplane
