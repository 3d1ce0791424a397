// TfIdfVectorizer: how often each n-gram of a pool occurs in a sequence of tokens, skipping ones between.
#include <algorithm>

#include "backplane/base/text.hpp"
#include "lowering/formula.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

constexpr int64_t kMaxComparisons = int64_t{1} << 28;
constexpr int64_t kMaxSkips = 1000;

struct Pool {
  std::vector<int64_t> tokens, starts, places;  // n-grams of length 1, 2, ... start at starts[0], starts[1], ...
  std::vector<double> weights;                  // by n-gram
  int64_t least, most;                          // length of the n-grams that count
};

// `first` is the number of the first n-gram of this length.
struct Grams {
  int64_t length, begin, count, first;
};

Result<std::vector<Grams>> grams_of(const Pool& pool) {
  std::vector<Grams> all;
  int64_t number = 0;
  for (size_t at = 0; at < pool.starts.size(); ++at) {
    const auto length = static_cast<int64_t>(at) + 1;
    const int64_t begin = pool.starts[at];
    const auto end = at + 1 < pool.starts.size() ? pool.starts[at + 1] : static_cast<int64_t>(pool.tokens.size());
    if (begin < 0 || end < begin || end > static_cast<int64_t>(pool.tokens.size()) || (end - begin) % length != 0) {
      return invalid_argument(cat("ngram_counts ", shape_text(pool.starts), " do not divide the pool into n-grams"));
    }
    const int64_t count = (end - begin) / length;
    if (count > 0 && length >= pool.least && length <= pool.most) all.push_back({length, begin, count, number});
    number += count;
  }
  if (number == static_cast<int64_t>(pool.places.size())) return all;
  return invalid_argument(cat("there are ", number, " n-grams, but ", pool.places.size(), " ngram_indexes"));
}

// Occurrences in x [B, T] of n-grams whose tokens stand `stride` apart, as f32 [B, grams].
TensorId occurrences(Formula& f, TensorId x, const Pool& pool, const Grams& grams, int64_t stride) {
  const Shape shape = f.shape(x);
  if (!f.status().ok()) return kNone;
  const int64_t windows = shape[1] - stride * (grams.length - 1);
  TensorId hits = kNone;
  for (int64_t i = 0; i < grams.length; ++i) {
    std::vector<double> tokens;
    for (int64_t gram = 0; gram < grams.count; ++gram)
      tokens.push_back(static_cast<double>(pool.tokens[static_cast<size_t>(grams.begin + gram * grams.length + i)]));
    const TensorId part = f.reshape(f.slice(x, 1, i * stride, windows), {shape[0], windows, 1});
    const TensorId hit = f.op(Op::kEQ, {part, f.list(f.dtype(x), tokens)});
    hits = hits == kNone ? hit : f.op(Op::kAND, {hits, hit});
  }
  return f.reduce(Op::kREDUCE_SUM, f.cast(hits, DType::kF32), {1}, false);
}

// Weighted as the mode says, [B, grams].
TensorId weighted(Formula& f, TensorId counts, const Pool& pool, const Grams& grams, const std::string& mode) {
  if (mode == "TF") return counts;
  std::vector<double> weights(static_cast<size_t>(grams.count), 1);
  for (size_t at = 0; at < weights.size() && !pool.weights.empty(); ++at)
    weights[at] = pool.weights[static_cast<size_t>(grams.first) + at];
  const TensorId factors = f.list(DType::kF32, weights);
  if (mode == "TFIDF") return f.mul(counts, factors);
  return f.op(Op::kWHERE, {f.compare(Op::kGT, counts, 0), factors, f.like(counts, 0)});
}

// Adds one column for each n-gram to the columns that the pool gives them.
TensorId placed(Formula& f, TensorId y, TensorId columns, const Pool& pool, const Grams& grams) {
  const auto first = pool.places.begin() + grams.first;
  const std::vector<double> places(first, first + grams.count);
  const TensorId indices = f.broadcast(f.list(DType::kI64, places), f.shape(columns));
  return f.op(Op::kSCATTER_ELEMENTS, {y, indices, columns},
              {{BP_ATTR_AXIS, int64_t{1}}, {BP_ATTR_REDUCTION, std::string("add")}});
}

// Strings by their codes, in the pool as in the input.
Result<std::vector<int64_t>> pool_tokens(NodeContext& c) {
  const bool is_text = c.has_attr("pool_strings");
  if (is_text != (c.values.codes(c.in(0)) != kNone)) return invalid_argument("pool and input must be of one type");
  if (!is_text) {
    BP_TRY(c.check_tensors({c.inputs().data(), 1}));
    return c.i64s("pool_int64s");
  }
  std::vector<int64_t> tokens;
  for (const std::string& string : c.texts("pool_strings")) tokens.push_back(c.values.code(string));
  return tokens;
}

Status tf_idf(NodeContext& c) {
  BP_TRY_ASSIGN(std::vector<int64_t> known, pool_tokens(c));
  const Pool pool{std::move(known),  c.i64s("ngram_counts"),      c.i64s("ngram_indexes"),
                  c.f64s("weights"), c.i64("min_gram_length", 1), c.i64("max_gram_length", 1)};
  const std::string mode = c.text("mode", "TF");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") return invalid_argument(cat("mode '", mode, "' is not known"));
  if (!pool.weights.empty() && pool.weights.size() != pool.places.size()) {
    return invalid_argument("weights and ngram_indexes must be of one length");
  }
  BP_TRY_ASSIGN(const std::vector<Grams> all, grams_of(pool));
  const TensorId given = is_tensor(c.in(0)) ? c.in(0) : c.values.codes(c.in(0));
  Shape x = c.emit.shape(given);
  if (x.empty() || x.size() > 2) return invalid_argument(cat("it needs [T] or [B, T], found ", shape_text(x)));
  int64_t width = 0;
  for (const int64_t place : pool.places) {
    if (place < 0) return invalid_argument("ngram_indexes must not be negative");
    if (place >= kMaxComparisons) return unimplemented("its output is too long");
    width = std::max(width, place + 1);
  }
  const int64_t skips = c.i64("max_skip_count", 0);
  if (skips < 0 || skips > kMaxSkips) return unimplemented(cat("a max_skip_count of ", skips, " is not supported"));
  if (width > kMaxComparisons / std::max<int64_t>(x.back(), 1)) return unimplemented("it has too many n-grams");
  Formula f(c.emit);
  const Shape rows{x.size() == 2 ? x[0] : 1, x.back()};
  const TensorId tokens = f.cast(f.reshape(given, rows), DType::kI64);
  TensorId y = f.broadcast(f.scalar(DType::kF32, 0), {rows[0], width});
  for (const Grams& grams : all) {
    TensorId counts = f.broadcast(f.scalar(DType::kF32, 0), {rows[0], grams.count});
    const int64_t strides = grams.length == 1 ? 1 : skips + 1;
    for (int64_t stride = 1; stride <= strides && stride * (grams.length - 1) < rows[1]; ++stride)
      counts = f.add(counts, occurrences(f, tokens, pool, grams, stride));
    y = placed(f, y, weighted(f, counts, pool, grams, mode), pool, grams);
  }
  const TensorId made = x.size() == 2 ? y : f.reshape(y, {width});
  return c.set(0, f.result(made));
}

}  // namespace

std::span<const Lowering> tfidf_lowerings() {
  static constexpr Lowering kRows[] = {Lowering{"TfIdfVectorizer", 9, 1, tf_idf}.taking(Takes::values)};
  return kRows;
}

}  // namespace backplane::onnx_import
