#include "backplane/reference/reference.hpp"

#include <new>
#include <optional>

#include "backplane/base/text.hpp"
#include "backplane/graph/inference.hpp"
#include "call.hpp"

namespace backplane::reference {
namespace {

// Ids are spaced by family in ops.def.
Outputs compute(const Call& call) {
  switch (static_cast<uint32_t>(call.op) >> 8) {
    case 0x01:
      return movement(call);
    case 0x02:
      return unary(call);
    case 0x03:
      return binary(call);
    case 0x04:
      return reduction(call);
    case 0x05:
      return linear(call);
    case 0x07:
      return quantization(call);
    default:
      break;
  }
  switch (call.op) {
    case Op::kCONV:
    case Op::kCONV_TRANSPOSE:
    case Op::kCONV_INTEGER:
      return convolution(call);
    case Op::kIM2COL:
      return im2col(call);
    case Op::kMAX_POOL:
    case Op::kAVERAGE_POOL:
      return pooling(call);
    case Op::kBATCH_NORM:
    case Op::kINSTANCE_NORM:
    case Op::kGROUP_NORM:
    case Op::kLAYER_NORM:
    case Op::kRMS_NORM:
    case Op::kSOFTMAX:
    case Op::kLOG_SOFTMAX:
    case Op::kHARDMAX:
      return normalization(call);
    case Op::kLSTM:
    case Op::kGRU:
    case Op::kRNN:
      return recurrent(call);
    case Op::kROPE:
      return rope(call);
    case Op::kATTENTION:
      return attention(call);
    default:
      return no_definition(call.op);
  }
}

}  // namespace

Status no_definition(Op op) {
  return unimplemented(cat(op_name(op), ": op set 1 has no definition of this op yet, so it cannot be evaluated"));
}

Result<std::vector<HostTensor>> evaluate(Op op, std::span<const HostTensor> inputs, const AttrList& attrs) {
  std::vector<std::optional<TensorSpec>> specs;
  for (const HostTensor& input : inputs)
    specs.push_back(input.is_null() ? std::nullopt : std::optional(TensorSpec{input.dtype(), input.shape()}));
  BP_TRY_ASSIGN(const std::vector<TensorSpec> outputs, infer(op, specs, attrs));
  try {
    return compute({op, inputs, attrs, outputs});
  } catch (const std::bad_alloc&) {
    return resource_exhausted(
        cat(op_name(op), ": no host memory to evaluate it in; working copies take 8 bytes an element"));
  }
}

}  // namespace backplane::reference
