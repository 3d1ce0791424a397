// Random nodes of the ops that move elements.
#include <algorithm>

#include "families.hpp"

namespace backplane::testing {
namespace {

int64_t random_axis(NodeCase& node, const Shape& shape) {
  const int64_t axis = node.random.between(0, static_cast<int64_t>(shape.size()) - 1);
  node.attrs.set(BP_ATTR_AXIS, axis);
  return axis;
}

void make_copy(NodeCase& node) { node.operand(node.type(kAnyType), node.random.shape(0, 5), Values::any); }

// The last extent in whole blocks of every type.
Shape block_shape(Random& random) {
  Shape shape = random.shape(0, 2);
  shape.push_back(256 * random.between(1, 2));
  return shape;
}

void make_block_cast(NodeCase& node) {
  const DType blocks = node.random.pick(std::span<const DType>(kBlockTypes)), plain = node.type(kFloats);
  const bool decodes = node.random.chance(50);
  const Shape shape = block_shape(node.random);
  if (decodes)
    node.operand(node.random.tensor(blocks, shape, Values::moderate));
  else
    node.operand(plain, shape, node.random.chance(20) ? Values::any : Values::moderate);
  node.attrs.set(BP_ATTR_TO, static_cast<int64_t>(decodes ? plain : blocks));
}

void make_cast(NodeCase& node) {
  if (node.random.chance(20)) return make_block_cast(node);
  make_copy(node);
  node.attrs.set(BP_ATTR_TO, static_cast<int64_t>(node.random.pick(std::span<const DType>(kAnyType))));
}

void make_concat(NodeCase& node) {
  Shape shape = node.random.shape(1, 5);
  const auto axis = static_cast<size_t>(random_axis(node, shape));
  const DType dtype = node.type(kAnyType);
  for (int64_t left = node.random.between(1, 4); left > 0; --left) {
    node.operand(dtype, shape, Values::any);
    shape[axis] = node.random.between(0, 5);
  }
}

void make_pad(NodeCase& node) {
  const Shape shape = node.random.shape(0, 5);
  const DType dtype = node.type(kAnyType);
  node.operand(dtype, shape, Values::any);
  const std::string mode = node.random.pick<std::string>({"constant", "reflect", "edge", "wrap"});
  std::vector<int64_t> pads = random_list(node.random, 2 * shape.size(), 0, 4);
  for (size_t i = 0; i < pads.size(); ++i) {
    const int64_t extent = shape[i % shape.size()];
    if (mode == "reflect" || (extent == 0 && mode != "constant"))
      pads[i] = std::min(pads[i], std::max<int64_t>(extent - 1, 0));
  }
  node.attrs.set(BP_ATTR_PADS, pads);
  if (mode != "constant" || node.random.chance(50)) node.attrs.set(BP_ATTR_MODE, mode);
  if (node.random.chance(50)) node.operand(dtype, node.random.chance(50) ? Shape{} : Shape{1}, Values::any);
}

void make_tile(NodeCase& node) {
  const Shape shape = node.random.shape(0, 4);
  node.operand(node.type(kAnyType), shape, Values::any);
  node.attrs.set(BP_ATTR_REPEATS, random_list(node.random, shape.size(), node.random.chance(10) ? 0 : 1, 3));
}

// At times an index lies outside: then the run must fail, as the reference does.
void make_gather(NodeCase& node) {
  const bool blocks = node.random.chance(10);
  Shape shape = node.random.shape(1, 4);
  const int64_t extent = shape[static_cast<size_t>(random_axis(node, shape))];
  if (blocks) {
    shape.push_back(256);
    node.operand(node.random.tensor(node.random.pick(std::span<const DType>(kBlockTypes)), shape, Values::moderate));
  } else {
    node.operand(node.type(kAnyType), shape, Values::any);
  }
  Shape index_shape = node.random.shape(0, 2);
  if (extent == 0 && node.random.chance(80)) index_shape = {0, 2};
  HostTensor indices = HostTensor::zeros(DType::kI64, index_shape).value();
  for (int64_t i = 0; i < indices.elements(); ++i)
    indices.mutable_data<int64_t>()[i] = extent > 0 ? node.random.between(-extent, extent - 1) : 0;
  if (indices.elements() > 0 && node.random.chance(5))
    indices.mutable_data<int64_t>()[node.random.between(0, indices.elements() - 1)] =
        node.random.chance(50) ? extent : -extent - 1;
  if (node.random.chance(50)) {
    std::vector<int32_t> narrow(indices.data<int64_t>(), indices.data<int64_t>() + indices.elements());
    indices = HostTensor::of<int32_t>(DType::kI32, index_shape, narrow);
  }
  node.operand(std::move(indices));
}

void make_reverse(NodeCase& node) {
  const Shape shape = node.random.shape(0, 5);
  node.operand(node.type(kAnyType), shape, Values::any);
  node.attrs.set(BP_ATTR_AXES, random_axes(node.random, shape.size()));
}

void add_resize_target(NodeCase& node, const Shape& shape) {
  Shape sizes = shape;
  std::vector<double> scales(shape.size(), 1);
  const bool has_scales = node.random.chance(50);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (node.random.chance(40)) continue;
    scales[axis] = static_cast<double>(node.random.between(1, 24)) / 8;
    sizes[axis] =
        has_scales ? static_cast<int64_t>(scales[axis] * static_cast<double>(shape[axis])) : node.random.between(1, 12);
    if (shape[axis] == 0) sizes[axis] = 0;
  }
  node.attrs.set(BP_ATTR_SIZES, sizes);
  if (has_scales) node.attrs.set(BP_ATTR_SCALES, scales);
}

void make_resize(NodeCase& node) {
  Random& random = node.random;
  const Shape shape = random.shape(0, 4);
  const DType dtype = node.type(kNums);
  node.operand(dtype, shape, Values::moderate);
  add_resize_target(node, shape);
  const std::string mode = random.pick<std::string>({"nearest", "linear", "cubic"});
  const std::string coordinates =
      random.pick<std::string>({"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_crop_and_resize",
                                "half_pixel_symmetric", "tf_half_pixel_for_nn"});
  node.attrs.set(BP_ATTR_MODE, mode);
  node.attrs.set(BP_ATTR_COORDINATE_MODE, coordinates);
  if (random.chance(50))
    node.attrs.set(BP_ATTR_NEAREST_MODE,
                   random.pick<std::string>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  if (random.chance(30)) node.attrs.set(BP_ATTR_CUBIC_COEFF_A, -0.5);
  if (random.chance(30)) node.attrs.set(BP_ATTR_EXCLUDE_OUTSIDE, int64_t{1});
  if (random.chance(30)) node.attrs.set(BP_ATTR_EXTRAPOLATION_VALUE, 2.5);
  if (coordinates == "tf_crop_and_resize") {
    std::vector<double> roi(2 * shape.size());
    for (size_t i = 0; i < roi.size(); ++i) roi[i] = random.real(-0.25, 0.5) + (i < shape.size() ? 0 : 0.75);
    node.attrs.set(BP_ATTR_ROI, roi);
  }
  if (mode == "nearest") return;
  // Coordinates are rounded too, in units that grow with them. A sum that is nearly an integer is truncated to either
  // side.
  const double furthest = shape.empty() ? 1 : static_cast<double>(*std::max_element(shape.begin(), shape.end()));
  node.tolerance = {.ulps = 4, .absolute = (64 + 8 * furthest) * epsilon_of(dtype), .integers = 1};
}

}  // namespace

std::span<const OpUnderTest> movement_ops() {
  static constexpr OpUnderTest kOps[] = {
      {Op::kCOPY, DType::kF32, make_copy},       {Op::kCAST, DType::kF32, make_cast},
      {Op::kCONCAT, DType::kF32, make_concat},   {Op::kPAD, DType::kF32, make_pad},
      {Op::kTILE, DType::kF32, make_tile},       {Op::kGATHER, DType::kF32, make_gather},
      {Op::kREVERSE, DType::kF32, make_reverse}, {Op::kRESIZE, DType::kF32, make_resize},
  };
  return kOps;
}

}  // namespace backplane::testing
