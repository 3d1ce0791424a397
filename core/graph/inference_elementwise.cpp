// Unary, binary and ternary ops.
#include "backplane/base/text.hpp"
#include "inference_call.hpp"

namespace backplane {
namespace {

Result<Specs> infer_to_bool(const InferenceCall& call) { return Specs{{DType::kBOOL, call.shape(0)}}; }

Result<Specs> infer_is_inf(const InferenceCall& call) {
  BP_TRY(call.flag(BP_ATTR_DETECT_NEGATIVE, true).status());
  BP_TRY(call.flag(BP_ATTR_DETECT_POSITIVE, true).status());
  return infer_to_bool(call);
}

Result<Specs> infer_gelu(const InferenceCall& call) {
  BP_TRY(call.word(BP_ATTR_APPROXIMATE, {"none", "tanh"}).status());
  return infer_same(call);
}

Result<Specs> infer_celu(const InferenceCall& call) {
  if (call.attrs.f64(BP_ATTR_ALPHA, 1) == 0) return call.fail("alpha is 0, but x is divided by it");
  return infer_same(call);
}

Result<Specs> infer_clip(const InferenceCall& call) {
  for (size_t i = 1; i <= 2; ++i) {
    BP_TRY(call.want_same_type(i, 0));
    BP_TRY(call.want_scalar(i));
  }
  return infer_same(call);
}

Result<Shape> broadcast_of(const InferenceCall& call, const Shape& a, size_t i) {
  auto shape = broadcast_shapes(a, call.shape(i));
  if (!shape.ok()) return call.fail(shape.status().message());
  return shape;
}

Result<Specs> infer_binary(const InferenceCall& call) {
  BP_TRY(call.want_same_type(1, 0));
  BP_TRY_ASSIGN(Shape shape, broadcast_of(call, call.shape(0), 1));
  return Specs{{call.dtype(0), std::move(shape)}};
}

Result<Specs> infer_comparison(const InferenceCall& call) {
  BP_TRY_ASSIGN(Specs specs, infer_binary(call));
  specs[0].dtype = DType::kBOOL;
  return specs;
}

Result<Specs> infer_pow(const InferenceCall& call) {
  BP_TRY(call.want_type(1, TypeSet::kNum));
  BP_TRY_ASSIGN(Shape shape, broadcast_of(call, call.shape(0), 1));
  return Specs{{call.dtype(0), std::move(shape)}};
}

Result<Specs> infer_mod(const InferenceCall& call) {
  BP_TRY_ASSIGN(const bool fmod, call.flag(BP_ATTR_FMOD, false));
  if (!fmod && is_float(call.dtype(0))) return call.fail("floating-point operands need the attribute fmod = 1");
  return infer_binary(call);
}

Result<Specs> infer_prelu(const InferenceCall& call) {
  BP_TRY_ASSIGN(Specs specs, infer_binary(call));
  if (specs[0].shape != call.shape(0))
    return call.fail(cat("the slope ", shape_text(call.shape(1)), " does not broadcast to the shape of input 0, ",
                         shape_text(call.shape(0))));
  return specs;
}

Result<Specs> infer_where(const InferenceCall& call) {
  BP_TRY(call.want_type(1, TypeSet::kAny));
  BP_TRY(call.want_same_type(2, 1));
  BP_TRY_ASSIGN(const Shape branches, broadcast_of(call, call.shape(1), 2));
  BP_TRY_ASSIGN(Shape shape, broadcast_of(call, branches, 0));
  return Specs{{call.dtype(1), std::move(shape)}};
}

std::vector<OpRule> make_rules() {
  std::vector<OpRule> rules = {
      {Op::kHARD_SIGMOID, 1, 1, TypeSet::kFloat, infer_same, {BP_ATTR_ALPHA, BP_ATTR_BETA}},
      {Op::kLEAKY_RELU, 1, 1, TypeSet::kFloat, infer_same, {BP_ATTR_ALPHA}},
      {Op::kELU, 1, 1, TypeSet::kFloat, infer_same, {BP_ATTR_ALPHA}},
      {Op::kSELU, 1, 1, TypeSet::kFloat, infer_same, {BP_ATTR_ALPHA, BP_ATTR_GAMMA}},
      {Op::kCELU, 1, 1, TypeSet::kFloat, infer_celu, {BP_ATTR_ALPHA}},
      {Op::kGELU, 1, 1, TypeSet::kFloat, infer_gelu, {BP_ATTR_APPROXIMATE}},
      {Op::kTHRESHOLDED_RELU, 1, 1, TypeSet::kFloat, infer_same, {BP_ATTR_ALPHA}},
      {Op::kSHRINK, 1, 1, TypeSet::kNum, infer_same, {BP_ATTR_LAMBD, BP_ATTR_BIAS}},
      {Op::kCLIP, 1, 3, TypeSet::kNum, infer_clip, {}},
      {Op::kNOT, 1, 1, TypeSet::kBool, infer_same, {}},
      {Op::kBITWISE_NOT, 1, 1, TypeSet::kInt, infer_same, {}},
      {Op::kIS_NAN, 1, 1, TypeSet::kFloat, infer_to_bool, {}},
      {Op::kIS_INF, 1, 1, TypeSet::kFloat, infer_is_inf, {BP_ATTR_DETECT_NEGATIVE, BP_ATTR_DETECT_POSITIVE}},
      {Op::kPOW, 2, 2, TypeSet::kNum, infer_pow, {}},
      {Op::kMOD, 2, 2, TypeSet::kNum, infer_mod, {BP_ATTR_FMOD}},
      {Op::kPRELU, 2, 2, TypeSet::kNum, infer_prelu, {}},
      {Op::kWHERE, 3, 3, TypeSet::kBool, infer_where, {}},
  };
  for (Op op : {Op::kABS, Op::kNEG, Op::kSIGN, Op::kRELU}) rules.push_back({op, 1, 1, TypeSet::kNum, infer_same, {}});
  for (Op op : {Op::kFLOOR,    Op::kCEIL,     Op::kROUND, Op::kEXP,   Op::kLOG,       Op::kSQRT,  Op::kRECIPROCAL,
                Op::kERF,      Op::kSIN,      Op::kCOS,   Op::kTAN,   Op::kASIN,      Op::kACOS,  Op::kATAN,
                Op::kSINH,     Op::kCOSH,     Op::kTANH,  Op::kASINH, Op::kACOSH,     Op::kATANH, Op::kSIGMOID,
                Op::kSOFTPLUS, Op::kSOFTSIGN, Op::kSILU,  Op::kMISH,  Op::kHARD_SWISH})
    rules.push_back({op, 1, 1, TypeSet::kFloat, infer_same, {}});
  for (Op op : {Op::kADD, Op::kSUB, Op::kMUL, Op::kDIV, Op::kMIN, Op::kMAX})
    rules.push_back({op, 2, 2, TypeSet::kNum, infer_binary, {}});
  for (Op op : {Op::kEQ, Op::kNE}) rules.push_back({op, 2, 2, TypeSet::kAny, infer_comparison, {}});
  for (Op op : {Op::kLT, Op::kLE, Op::kGT, Op::kGE}) rules.push_back({op, 2, 2, TypeSet::kNum, infer_comparison, {}});
  for (Op op : {Op::kAND, Op::kOR, Op::kXOR}) rules.push_back({op, 2, 2, TypeSet::kBool, infer_binary, {}});
  for (Op op : {Op::kBITWISE_AND, Op::kBITWISE_OR, Op::kBITWISE_XOR})
    rules.push_back({op, 2, 2, TypeSet::kInt, infer_binary, {}});
  for (Op op : {Op::kSHIFT_LEFT, Op::kSHIFT_RIGHT}) rules.push_back({op, 2, 2, TypeSet::kUnsigned, infer_binary, {}});
  return rules;
}

}  // namespace

std::span<const OpRule> elementwise_rules() {
  static const std::vector<OpRule> rules = make_rules();
  return rules;
}

}  // namespace backplane
