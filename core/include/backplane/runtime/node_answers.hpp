// NodeAnswers: what one device says about nodes: whether it runs them, what they may overwrite, why not.
//
// Ownership: reasons are views into the answers. Thread safety: const access from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backplane/abi/device.h"

namespace backplane {

struct NodeAnswer {
  uint32_t verdict = BP_VERDICT_NO;
  uint64_t alias_mask = 0;  // as bp_node_answer.alias_mask
  std::string_view reason;  // of a NO or SLOW; may be empty

  bool runs() const { return verdict != BP_VERDICT_NO; }
};

class NodeAnswers {
 public:
  NodeAnswers() = default;
  explicit NodeAnswers(size_t count, uint32_t verdict = BP_VERDICT_NO) : answers_(count, {verdict, BP_NONE, 0}) {}
  // As a plugin gave them; offsets of reasons beyond `text` count as none.
  NodeAnswers(std::vector<bp_node_answer> answers, std::string text)
      : answers_(std::move(answers)), text_(std::move(text)) {}

  size_t size() const { return answers_.size(); }
  bool empty() const { return answers_.empty(); }
  uint32_t verdict(size_t at) const { return answers_[at].verdict; }
  uint64_t alias_mask(size_t at) const { return answers_[at].alias_mask; }
  NodeAnswer operator[](size_t at) const { return {verdict(at), alias_mask(at), reason(at)}; }
  // Replaces an answer; reasons seen before are no longer valid.
  void set(size_t at, uint32_t verdict, std::string_view reason = {});

 private:
  std::string_view reason(size_t at) const;

  std::vector<bp_node_answer> answers_;
  std::string text_;  // zero-terminated reasons
};

}  // namespace backplane
