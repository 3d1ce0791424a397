#include "symbolic_run.hpp"

#include <map>
#include <utility>

#include "backplane/base/text.hpp"
#include "tensor_words.hpp"

namespace backplane::testing {
namespace {

using Words = std::vector<uint32_t>;  // who wrote each

constexpr uint32_t kNobody = 0xFFFFFFFF;

// What a storage holds before the run, and what the writer of a tensor leaves.
uint32_t initial(StorageId storage) { return 0x80000000 | storage; }
uint32_t written(TensorId tensor) { return tensor; }

// What a tensor holds, as a hash.
uint64_t fingerprint(const Graph& graph, TensorId tensor, const Words& words, uint64_t base) {
  uint64_t hash = 0xcbf29ce484222325;
  for_each_word(graph, tensor, [&](uint64_t word) { hash = (hash ^ words[base + word]) * 0x100000001b3; });
  return hash;
}

void mark(const Graph& graph, TensorId tensor, Words& words, uint64_t base) {
  for_each_word(graph, tensor, [&](uint64_t word) { words[base + word] = written(tensor); });
}

uint64_t word_count(uint64_t bytes) { return (bytes + kWordBytes - 1) / kWordBytes; }

// The run in the order of the graph, each storage with memory of its own.
class SequentialRun {
 public:
  explicit SequentialRun(const Graph& graph) : graph_(graph) {
    for (StorageId storage = 0; storage < graph.storage_count(); ++storage)
      storages_.emplace_back(word_count(graph.storage(storage).bytes), initial(storage));
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      for (const TensorId input : graph.node_inputs(node)) inputs_.push_back(input == kNone ? 0 : of(input));
      for (const TensorId output : graph.node_outputs(node))
        if (output != kNone) mark(graph, output, storages_[graph.storage_of(output)], 0);
      first_input_.push_back(inputs_.size());
    }
  }

  // Of input `i` of a node when it runs.
  uint64_t input(NodeId node, size_t i) const { return inputs_[(node == 0 ? 0 : first_input_[node - 1]) + i]; }
  // Of a tensor after the run.
  uint64_t of(TensorId tensor) const { return fingerprint(graph_, tensor, storages_[graph_.storage_of(tensor)], 0); }
  const Words& words(StorageId storage) const { return storages_[storage]; }

 private:
  const Graph& graph_;
  std::vector<Words> storages_;
  std::vector<uint64_t> inputs_;
  std::vector<size_t> first_input_;  // by node: behind its last
};

class PlannedRun {
 public:
  explicit PlannedRun(const Plan& plan) : plan_(plan), graph_(*plan.graph), wanted_(graph_) {
    for (const Pool& pool : plan.pools) {
      std::vector<Words>& chunks = pools_.emplace_back();
      for (const uint64_t bytes : pool.chunk_bytes) chunks.emplace_back(word_count(bytes), kNobody);
    }
    for (StorageId storage = 0; storage < graph_.storage_count(); ++storage) fill_in(storage);
  }

  std::string check() {
    for (const Task& task : plan_.tasks) {
      const std::string fault = task.is_copy ? run_transfer(task) : run_split(plan_.splits[task.index]);
      if (!fault.empty()) return fault;
    }
    return check_results();
  }

 private:
  struct Place {
    Words* words = nullptr;
    uint64_t base = 0;
  };

  Place place(const Residence& residence) {
    if (residence.pool != kNone) return {&pools_[residence.pool][residence.chunk], residence.offset / kWordBytes};
    Words& words = outside_[{residence.storage, residence.device}];
    if (words.empty()) words.resize(word_count(graph_.storage(residence.storage).bytes), kNobody);
    return {&words, 0};
  }

  // What is there before the run: inputs and states at home, constants where they stay.
  void fill_in(StorageId storage) {
    for (uint32_t i = plan_.residence_at[storage]; i < plan_.residence_at[storage + 1]; ++i) {
      const Residence& residence = plan_.residences[i];
      const bool stays = residence.pool == kNone;
      const bool home = residence.device == plan_.homes[storage];
      if (!stays && !(home && graph_.storage(storage).writer == kNone)) continue;
      const Place at = place(residence);
      for (uint64_t word = 0; word < word_count(graph_.storage(storage).bytes); ++word)
        (*at.words)[at.base + word] = initial(storage);
    }
  }

  std::string run_split(const Split& split) {
    for (const NodeId node : plan_.nodes(split)) {
      size_t i = 0;
      for (const TensorId input : graph_.node_inputs(node)) {
        const uint64_t wanted = wanted_.input(node, i++);
        if (input == kNone || graph_.storage(graph_.storage_of(input)).bytes == 0) continue;
        const Residence* residence = plan_.residence(graph_.storage_of(input), split.device);
        if (residence == nullptr) return cat("node ", node, " finds no place of its input t", input);
        const Place at = place(*residence);
        if (fingerprint(graph_, input, *at.words, at.base) != wanted)
          return cat("node ", node, " on device ", split.device, " reads other values of t", input, " on device ",
                     residence->device, " than in the order of the graph", whose(input, at));
      }
      for (const TensorId output : graph_.node_outputs(node)) {
        if (output == kNone || graph_.storage(graph_.storage_of(output)).bytes == 0) continue;
        const Residence* residence = plan_.residence(graph_.storage_of(output), split.device);
        if (residence == nullptr) return cat("node ", node, " finds no place for its output t", output);
        const Place at = place(*residence);
        mark(graph_, output, *at.words, at.base);
      }
    }
    return "";
  }

  // Who wrote what was found, as far as it is not what was wanted.
  std::string whose(TensorId tensor, const Place& at) const {
    std::string text = ": found";
    uint32_t last = kNobody - 1;
    for_each_word(graph_, tensor, [&](uint64_t word) {
      const uint32_t found = (*at.words)[at.base + word];
      if (found == std::exchange(last, found)) return;
      text += found == kNobody            ? " nothing"
              : (found & 0x80000000) != 0 ? cat(" s", found & 0x7FFFFFFF)
                                          : cat(" t", found);
    });
    return text;
  }

  std::string run_transfer(const Task& task) {
    const std::span<const PlannedCopy> transfer = plan_.transfer(task);
    for (uint32_t i = 0; i < transfer.size(); ++i) {
      if (const std::string fault = run_copy(task.index + i); !fault.empty()) return fault;
      if (i != 0) spoil_between(transfer[i - 1], transfer[i]);
    }
    return "";
  }

  // What is between joined copies is carried too, so it must be nobody's.
  void spoil_between(const PlannedCopy& before, const PlannedCopy& copy) {
    const Place from = place(*plan_.residence(before.storage, before.to));
    const Place to = place(*plan_.residence(copy.storage, copy.to));
    for (uint64_t at = from.base + word_count(before.row_bytes); at < to.base; ++at) (*from.words)[at] = kNobody;
  }

  std::string run_copy(uint32_t index) {
    const PlannedCopy& copy = plan_.copies[index];
    const Residence *source = plan_.residence(copy.storage, copy.from),
                    *target = plan_.residence(copy.storage, copy.to);
    if (source == nullptr || target == nullptr || source == target)
      return cat("copy ", index, " has no two places of s", copy.storage);
    if (copy.offset + (copy.rows - 1) * copy.pitch_bytes + copy.row_bytes > graph_.storage(copy.storage).bytes)
      return cat("copy ", index, " leaves s", copy.storage);
    const Place from = place(*source), to = place(*target);
    for (uint64_t row = 0; row < copy.rows; ++row) {
      const uint64_t begin = copy.offset + row * copy.pitch_bytes;
      for (uint64_t word = begin / kWordBytes; word < word_count(begin + copy.row_bytes); ++word)
        (*to.words)[to.base + word] = (*from.words)[from.base + word];
    }
    return "";
  }

  std::string check_results() {
    for (const Graph::Port& port : graph_.outputs())
      if (const std::string fault = check_home(graph_.storage_of(port.tensor), port.tensor); !fault.empty())
        return cat("output ", port.name, ": ", fault);
    for (StorageId storage = 0; storage < graph_.storage_count(); ++storage)
      if ((graph_.storage(storage).flags & BP_TENSOR_STATE) != 0)
        if (const std::string fault = check_home(storage, graph_.storage(storage).root); !fault.empty())
          return cat("state s", storage, ": ", fault);
    return "";
  }

  std::string check_home(StorageId storage, TensorId tensor) {
    if (plan_.homes[storage] == kNone || graph_.storage(storage).bytes == 0) return "";
    const uint32_t first = plan_.residence_at[storage];
    if (first == plan_.residence_at[storage + 1]) return "it has no memory";
    const Residence& home = plan_.residences[first];
    if (home.device != plan_.homes[storage]) return "its first residence is not its home";
    const Place at = place(home);
    return fingerprint(graph_, tensor, *at.words, at.base) == wanted_.of(tensor)
               ? ""
               : cat("other values at home than in the order of the graph", whose(tensor, at));
  }

  const Plan& plan_;
  const Graph& graph_;
  const SequentialRun wanted_;
  std::vector<std::vector<Words>> pools_;                    // by pool and chunk
  std::map<std::pair<StorageId, uint32_t>, Words> outside_;  // by storage and device
};

}  // namespace

std::string check_symbolic_run(const Plan& plan) { return PlannedRun(plan).check(); }

}  // namespace backplane::testing
