// rope and attention.
#include <cmath>
#include <limits>

#include "backplane/base/text.hpp"
#include "call.hpp"
#include "iteration.hpp"
#include "values.hpp"

namespace backplane::reference {
namespace {

// ---- rope

// The pair that is turned by the i-th frequency.
struct Pair {
  size_t first, second;
};
Pair pair_at(size_t i, size_t turned, bool interleaved) {
  return interleaved ? Pair{2 * i, 2 * i + 1} : Pair{i, i + turned / 2};
}

std::vector<double> frequencies(const Call& call, size_t turned) {
  const double base = call.attrs.f64(BP_ATTR_BASE, 10000), scale_factor = call.attrs.f64(BP_ATTR_SCALE, 1);
  const std::vector<double> factors = call.has(2) ? load<double>(call.input(2)) : std::vector<double>(turned / 2, 1);
  std::vector<double> list(turned / 2);
  for (size_t i = 0; i < list.size(); ++i)
    list[i] = scale_factor * std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(turned)) / factors[i];
  return list;
}

// ---- attention

// The numbers of one call, and what stands at an index.
struct Problem {
  explicit Problem(const Call& call)
      : q(load<double>(call.input(0))),
        k(load<double>(call.input(1))),
        v(load<double>(call.input(2))),
        batch(call.input(0).shape()[0]),
        heads(call.input(0).shape()[1]),
        rows(call.input(0).shape()[2]),
        depth(call.input(0).shape()[3]),
        key_heads(call.input(1).shape()[1]),
        keys(call.input(1).shape()[2]),
        width(call.input(2).shape()[3]),
        causal(call.attrs.i64(BP_ATTR_CAUSAL, 0) != 0),
        factor(call.attrs.f64(BP_ATTR_SCALE, 1 / std::sqrt(static_cast<double>(depth)))),
        softcap(call.attrs.f64(BP_ATTR_SOFTCAP, 0)) {
    if (call.has(3)) {
      mask = load<double>(call.input(3));
      mask_strides = broadcast_strides(call.input(3).shape(), Shape{batch, heads, rows, keys});
      mask_is_bool = call.input(3).dtype() == DType::kBOOL;
    }
    if (call.has(4)) past = load<int64_t>(call.input(4));
  }

  std::vector<double> q, k, v, mask;
  Shape mask_strides;
  bool mask_is_bool = false;
  std::vector<int64_t> past;
  int64_t batch, heads, rows, depth, key_heads, keys, width;
  bool causal;
  double factor, softcap;

  int64_t past_of(int64_t b) const { return past.empty() ? 0 : past[past.size() == 1 ? 0 : static_cast<size_t>(b)]; }
  int64_t live_keys(int64_t b) const { return past.empty() ? keys : past_of(b) + rows; }

  const double* query(int64_t b, int64_t h, int64_t i) const { return &q[((b * heads + h) * rows + i) * depth]; }
  // The first key, or value, of the head that a query head looks at.
  int64_t key_head(int64_t b, int64_t h) const { return (b * key_heads + h / (heads / key_heads)) * keys; }

  // Of one query with key j; -infinity if it does not see it.
  double score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    constexpr double kUnseen = -std::numeric_limits<double>::infinity();
    if (causal && j > past_of(b) + i) return kUnseen;
    const double entry =
        mask.empty() ? 0 : mask[b * mask_strides[0] + h * mask_strides[1] + i * mask_strides[2] + j * mask_strides[3]];
    if (mask_is_bool && entry == 0) return kUnseen;
    double sum = 0;
    for (int64_t d = 0; d < depth; ++d) sum += query(b, h, i)[d] * k[(key_head(b, h) + j) * depth + d];
    sum *= factor;
    if (softcap > 0) sum = softcap * std::tanh(sum / softcap);
    return mask_is_bool ? sum : sum + entry;
  }

  void attend(int64_t b, int64_t h, int64_t i, double* y) const {
    std::vector<double> scores(static_cast<size_t>(live_keys(b)));
    double largest = -std::numeric_limits<double>::infinity();
    for (size_t j = 0; j < scores.size(); ++j) {
      scores[j] = score(b, h, i, static_cast<int64_t>(j));
      largest = maximum(largest, scores[j]);
    }
    double sum = 0;
    for (size_t j = 0; j < scores.size(); ++j) {
      if (scores[j] == -std::numeric_limits<double>::infinity()) continue;  // nothing of such a key matters
      const double weight = std::exp(scores[j] - largest);
      sum += weight;
      for (int64_t d = 0; d < width; ++d) y[d] += weight * v[(key_head(b, h) + static_cast<int64_t>(j)) * width + d];
    }
    if (sum == 0) return;  // sees nothing
    for (int64_t d = 0; d < width; ++d) y[d] /= sum;
  }
};

Status check_past(const Problem& p) {
  for (const int64_t past : p.past)
    if (past < 0 || past > p.keys - p.rows)
      return out_of_range(
          cat("attention: past is ", past, "; with ", p.rows, " new keys it must be in [0, ", p.keys - p.rows, "]"));
  return ok_status();
}

}  // namespace

Outputs rope(const Call& call) {
  Shape rows = call.input(0).shape();
  const auto width = static_cast<size_t>(rows.back());
  rows.pop_back();
  const auto turned = static_cast<size_t>(call.attrs.i64(BP_ATTR_ROTARY_DIM, static_cast<int64_t>(width)));
  const bool interleaved = call.attrs.i64(BP_ATTR_INTERLEAVED, 0) != 0;
  const std::vector<double> list = frequencies(call, turned);
  const std::vector<int64_t> positions = load<int64_t>(call.input(1));
  std::vector<double> y = load<double>(call.input(0));
  if (y.empty()) return single(store(call.output(), y));
  double* row = y.data();
  walk(rows, std::array{broadcast_strides(call.input(1).shape(), rows)}, [&](const std::array<int64_t, 1>& at) {
    for (size_t i = 0; i < list.size(); ++i) {
      const double angle = static_cast<double>(positions[static_cast<size_t>(at[0])]) * list[i];
      const auto [first, second] = pair_at(i, turned, interleaved);
      const double a = row[first], b = row[second];
      row[first] = a * std::cos(angle) - b * std::sin(angle);
      row[second] = a * std::sin(angle) + b * std::cos(angle);
    }
    row += width;
  });
  return single(store(call.output(), y));
}

Outputs attention(const Call& call) {
  const Problem p(call);
  std::vector<double> y(static_cast<size_t>(product(call.output().shape)));
  if (!y.empty()) {
    BP_TRY(check_past(p));  // where nothing is computed, past is not looked at
  }
  double* to = y.data();
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.heads && !y.empty(); ++h)
      for (int64_t i = 0; i < p.rows; ++i, to += p.width) p.attend(b, h, i, to);
  return single(store(call.output(), y));
}

}  // namespace backplane::reference
