#include "plan_invariants.hpp"

#include <algorithm>
#include <map>

#include "backplane/base/text.hpp"
#include "tensor_words.hpp"

namespace backplane::testing {
namespace {

// BP_ACCESS_* of one device to the memory of another, asked anew: what the plan was told is not taken for granted.
uint32_t access_of(const Device& reader, const Device& owner) {
  if (&reader == &owner) return BP_ACCESS_READ_IN_PLACE | BP_ACCESS_WRITE_IN_PLACE;
  const MemoryType& type = owner.memory_types()[0];
  bp_foreign_memory memory{};
  memory.head.size = sizeof memory;
  memory.head.kind = BP_KIND_FOREIGN_MEMORY;
  memory.plugin_id = owner.plugin_id().c_str();
  memory.memtype_name = type.name.c_str();
  memory.memtype_flags = type.flags;
  memory.handle_type = type.host_visible() ? BP_HANDLE_HOST_POINTER : BP_HANDLE_NONE;
  memory.alignment = type.alignment;
  return reader.foreign_access(memory).value();
}

class Checker {
 public:
  Checker(const Plan& plan, const std::vector<Device*>& devices, const PlanOptions& options)
      : plan_(plan), graph_(*plan.graph), devices_(devices), options_(options) {
    for (Device* device : devices) answers_.push_back(device->query(graph_.abi()).value());
    for (const Device* reader : devices)
      for (const Device* owner : devices) access_.push_back(access_of(*reader, *owner));
  }

  std::string check() {
    for (const auto check : {&Checker::check_splits, &Checker::check_devices, &Checker::check_pins,
                             &Checker::check_weights, &Checker::check_order, &Checker::check_operands,
                             &Checker::check_copies, &Checker::check_memory, &Checker::check_tasks})
      if (std::string fault = (this->*check)(); !fault.empty()) return fault;
    return "";
  }

 private:
  uint32_t access(uint32_t reader, uint32_t owner) const { return access_[reader * devices_.size() + owner]; }

  // 1: every node is in exactly one split, and a split has one device.
  std::string check_splits() {
    std::vector<uint32_t> position(graph_.node_count(), kNone);
    for (uint32_t i = 0; i < plan_.order.size(); ++i) {
      if (plan_.order[i] >= graph_.node_count() || position[plan_.order[i]] != kNone)
        return cat("1: place ", i, " of the order holds node ", plan_.order[i], " wrongly");
      position[plan_.order[i]] = i;
    }
    if (plan_.order.size() != graph_.node_count()) return "1: the order lacks nodes";
    uint32_t next = 0;
    for (const Split& split : plan_.splits) {
      if (split.first_node != next || split.node_count == 0) return cat("1: a split begins at ", split.first_node);
      next += split.node_count;
      for (const NodeId node : plan_.nodes(split))
        if (plan_.placements[node].device != split.device)
          return cat("1: node ", node, " is in a split of device ", split.device, ", and placed on ",
                     plan_.placements[node].device);
    }
    if (next != graph_.node_count()) return "1: the splits lack nodes";
    position_ = std::move(position);
    return "";
  }

  // 2, and 6 in its general form: a node that one device alone runs is there.
  std::string check_devices() {
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      const uint32_t device = plan_.placements[node].device;
      if (device >= devices_.size() || !answers_[device][node].runs())
        return cat("2: node ", node, " is on device ", device, ", which does not run it");
      if (plan_.placements[node].verdict != answers_[device][node].verdict)
        return cat("2: node ", node, " has another verdict than its device gave");
    }
    return "";
  }

  // 4
  std::string check_pins() {
    for (const auto& [name, device] : options_.pins)
      for (NodeId node = 0; node < graph_.node_count(); ++node)
        if ((name == graph_.node_name(node) || name == std::to_string(node)) && plan_.placements[node].device != device)
          return cat("4: node ", name, " is pinned to ", device, " and on ", plan_.placements[node].device);
    return "";
  }

  // 5: a reader of a located weight runs there if that device can, or on one that reads the weight where it is.
  std::string check_weights() {
    const uint32_t located = options_.weights_device;
    if (plan_.mode != PlacementMode::greedy || located == kNone || options_.soft_weights ||
        options_.offload_ratio != 0 || !options_.pins.empty())
      return "";
    const auto is_weight = [&](TensorId tensor) {
      return tensor != kNone && !graph_.constant(graph_.storage_of(tensor)).is_null();
    };
    const auto is_state = [&](TensorId tensor) {
      return tensor != kNone && (graph_.storage(graph_.storage_of(tensor)).flags & BP_TENSOR_STATE) != 0;
    };
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      if (!answers_[located][node].runs() || std::ranges::none_of(graph_.node_inputs(node), is_weight) ||
          std::ranges::any_of(graph_.node_outputs(node), is_state))
        continue;
      const Placement& placement = plan_.placements[node];
      if ((access(placement.device, located) & BP_ACCESS_READ_IN_PLACE) == 0)
        return cat("5: node ", node, " reads a weight on device ", located, ", but ", plan_.explain(node));
    }
    return "";
  }

  // 1: the order keeps every two accesses to the same bytes in the order of the graph if one writes.
  std::string check_order() {
    struct Access {
      NodeId node;
      ByteRange bytes;
      bool write;
    };
    std::vector<std::vector<Access>> accesses(graph_.storage_count());
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      const auto note = [&](std::span<const TensorId> tensors, bool write) -> std::string {
        for (const TensorId tensor : tensors) {
          if (tensor == kNone) continue;
          const ByteRange bytes = byte_range(graph_, tensor);
          for (const Access& earlier : accesses[graph_.storage_of(tensor)])
            if ((write || earlier.write) && earlier.bytes.overlaps(bytes) && position_[earlier.node] > position_[node])
              return cat("1: node ", node, " comes before node ", earlier.node, ", which touches the same bytes");
          accesses[graph_.storage_of(tensor)].push_back({node, bytes, write});
        }
        return "";
      };
      if (std::string fault = note(graph_.node_inputs(node), false); !fault.empty()) return fault;
      if (std::string fault = note(graph_.node_outputs(node), true); !fault.empty()) return fault;
    }
    return "";
  }

  // 3, 8: what a node reads and writes is in memory that its device reads and writes.
  std::string check_operands() {
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      const uint32_t device = plan_.placements[node].device;
      const auto reach = [&](std::span<const TensorId> tensors, uint32_t need) -> std::string {
        for (const TensorId tensor : tensors) {
          if (tensor == kNone || graph_.storage(graph_.storage_of(tensor)).bytes == 0) continue;
          const Residence* residence = plan_.residence(graph_.storage_of(tensor), device);
          if (residence == nullptr) return cat("3: node ", node, " finds t", tensor, " nowhere");
          if ((access(device, residence->device) & need) != need)
            return cat("3: node ", node, " on device ", device, " cannot reach t", tensor, " on ", residence->device);
        }
        return "";
      };
      if (std::string fault = reach(graph_.node_inputs(node), BP_ACCESS_READ_IN_PLACE); !fault.empty()) return fault;
      if (std::string fault = reach(graph_.node_outputs(node), BP_ACCESS_WRITE_IN_PLACE); !fault.empty()) return fault;
    }
    return "";
  }

  // 9, 10
  std::string check_copies() {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan_.copies.size(); ++i) {
      const PlannedCopy& copy = plan_.copies[i];
      const uint64_t extent = copy.bytes() == 0 ? 0 : (copy.rows - 1) * copy.pitch_bytes + copy.row_bytes;
      bytes += copy.bytes();
      if (copy.from == copy.to) return cat("9: copy ", i, " stays on device ", copy.to);
      if (!copy.write_back && (access(copy.to, plan_.homes[copy.storage]) & BP_ACCESS_READ_IN_PLACE) != 0)
        if (!writes_copy(copy)) return cat("9: copy ", i, " is of memory that device ", copy.to, " reads in place");
      // An operand without elements is copied as nothing.
      if (copy.joined && !is_joined_rightly(i))
        return cat("10: copy ", i, " cannot be one transfer with the one before");
      if (copy.bytes() > extent || copy.offset + extent > graph_.storage(copy.storage).bytes)
        return cat("10: copy ", i, " of ", copy.bytes(), " bytes does not fit s", copy.storage);
    }
    if (bytes != plan_.copy_bytes)
      return cat("11: the copies have ", bytes, " bytes, the plan says ", plan_.copy_bytes);
    return check_repeated_copies();
  }

  // Both are whole inputs, one behind the other on both devices at the same distance.
  bool is_joined_rightly(uint32_t index) const {
    if (index == 0) return false;
    const PlannedCopy &before = plan_.copies[index - 1], &copy = plan_.copies[index];
    for (const PlannedCopy* one : {&before, &copy})
      if (one->bytes() == 0 || one->offset != 0 || one->rows != 1 || one->write_back ||
          one->row_bytes != graph_.storage(one->storage).bytes || graph_.storage(one->storage).writer != kNone)
        return false;
    const auto distance = [&](uint32_t device) -> uint64_t {
      const Residence &a = *plan_.residence(before.storage, device), &b = *plan_.residence(copy.storage, device);
      const bool beside = a.device == device && b.device == device && a.pool != kNone && a.pool == b.pool;
      return beside && a.chunk == b.chunk && a.offset + before.row_bytes <= b.offset ? b.offset - a.offset : 0;
    };
    return copy.split == before.split && copy.from == before.from && copy.to == before.to && distance(copy.to) != 0 &&
           distance(copy.to) == distance(copy.from);
  }

  // Whether the target writes the storage, and so needs a copy although it could read the original.
  bool writes_copy(const PlannedCopy& copy) const {
    if ((access(copy.to, copy.from) & BP_ACCESS_WRITE_IN_PLACE) != 0) return false;
    return std::ranges::any_of(plan_.copies, [&](const PlannedCopy& other) {
      return other.write_back && other.storage == copy.storage && other.from == copy.to;
    });
  }

  // Whether all bytes of one copy are carried by another.
  static bool covers(const PlannedCopy& all, const PlannedCopy& part) {
    const uint64_t pitch = all.rows == 1 ? all.row_bytes + 1 : all.pitch_bytes;
    for (uint64_t row = 0; row < part.rows; ++row) {
      const uint64_t begin = part.offset + row * part.pitch_bytes;
      if (begin < all.offset || (begin - all.offset) / pitch >= all.rows ||
          (begin - all.offset) % pitch + part.row_bytes > all.row_bytes)
        return false;
    }
    return true;
  }

  // 9: between two copies of the same bytes to one device, somebody writes the storage.
  std::string check_repeated_copies() {
    std::vector<std::vector<uint32_t>> copied(graph_.storage_count());  // since the last write
    for (const Task& task : plan_.tasks) {
      if (task.is_copy) {
        for (const PlannedCopy& copy : plan_.transfer(task)) {
          if (copy.write_back) {
            copied[copy.storage].clear();
            continue;
          }
          const auto index = static_cast<uint32_t>(&copy - plan_.copies.data());
          for (const uint32_t earlier : copied[copy.storage])
            if (plan_.copies[earlier].to == copy.to &&
                (covers(plan_.copies[earlier], copy) || covers(copy, plan_.copies[earlier])))
              return cat("9: copies ", earlier, " and ", index, " are of the same bytes to one device");
          copied[copy.storage].push_back(index);
        }
        continue;
      }
      for (const NodeId node : plan_.nodes(plan_.splits[task.index]))
        for (const TensorId output : graph_.node_outputs(node))
          if (output != kNone) copied[graph_.storage_of(output)].clear();
    }
    return "";
  }

  // 15, 16
  std::string check_memory() {
    for (uint32_t i = 0; i < plan_.pools.size(); ++i) {
      const Pool& pool = plan_.pools[i];
      const MemoryType& type = devices_[pool.device]->memory_types()[pool.memtype];
      uint64_t sum = 0;
      for (const uint64_t bytes : pool.chunk_bytes) {
        sum += bytes;
        if (type.max_bytes != 0 && bytes > type.max_bytes) return cat("15: a chunk of pool ", i, " is too large");
      }
      if (sum != pool.peak_bytes || pool.lower_bound_bytes > pool.peak_bytes)
        return cat("16: pool ", i, " has a peak of ", pool.peak_bytes, ", chunks of ", sum, " and a bound of ",
                   pool.lower_bound_bytes);
    }
    for (const Residence& residence : plan_.residences) {
      if (residence.pool == kNone) continue;
      const Pool& pool = plan_.pools[residence.pool];
      const uint64_t bytes = graph_.storage(residence.storage).bytes;
      if (pool.device != residence.device) return cat("15: s", residence.storage, " is in a pool of another device");
      if (residence.offset % devices_[pool.device]->memory_types()[pool.memtype].alignment != 0)
        return cat("15: s", residence.storage, " is misaligned at ", residence.offset);
      if (residence.chunk >= pool.chunk_bytes.size() || residence.offset + bytes > pool.chunk_bytes[residence.chunk])
        return cat("15: s", residence.storage, " leaves its chunk");
    }
    return "";
  }

  // 1: the tasks are the splits and copies, each once, on the right device.
  std::string check_tasks() {
    std::vector<uint32_t> splits(plan_.splits.size(), 0), copies(plan_.copies.size(), 0);
    size_t done = 0;
    for (const Task& task : plan_.tasks) {
      std::vector<uint32_t>& counts = task.is_copy ? copies : splits;
      if (task.index >= counts.size() || counts[task.index]++ != 0) return "1: a task names nothing, or again";
      if (task.is_copy && plan_.copies[task.index].joined) return "1: a task is of a copy that is part of another";
      done += task.is_copy ? plan_.transfer(task).size() : 1;
      const uint32_t device = task.is_copy ? plan_.copies[task.index].to : plan_.splits[task.index].device;
      if (device != task.device) return cat("1: a task is on device ", task.device, ", not ", device);
      const bool beside = task.is_copy && devices_[device]->has(BP_CAP_ASYNC | BP_CAP_EVENTS);
      if (task.lane != device + beside * devices_.size()) return cat("1: a task is in lane ", task.lane);
    }
    return done == splits.size() + copies.size() ? "" : "1: the tasks lack splits or copies";
  }

  const Plan& plan_;
  const Graph& graph_;
  const std::vector<Device*>& devices_;
  const PlanOptions& options_;
  std::vector<NodeAnswers> answers_;  // by device
  std::vector<uint32_t> access_;      // by reader and owner
  std::vector<uint32_t> position_;    // by node: its place in the order
};

}  // namespace

std::string check_plan_invariants(const Plan& plan, const std::vector<Device*>& devices, const PlanOptions& options) {
  return Checker(plan, devices, options).check();
}

}  // namespace backplane::testing
