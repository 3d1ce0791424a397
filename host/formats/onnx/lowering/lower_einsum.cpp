// Einsum: pairs of operands are multiplied as matrices; axes are lined up by permuting and reshaping.
#include <algorithm>
#include <map>

#include "backplane/base/text.hpp"
#include "lowering/formula.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;
// One character an axis. Those of an ellipsis are '0', '1' ...: the last axis it stands for is that of highest number.
using Labels = std::string;

constexpr char kFirstDot = '0';
constexpr size_t kMaxDots = 10;

struct Operand {
  TensorId tensor = kNone;
  Labels labels;
};

bool holds(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

// A term such as "bij" or "...ij", the ellipsis standing for `dots` axes out of `most`.
Result<Labels> labels_of(std::string_view term, size_t dots, size_t most) {
  Labels labels;
  for (size_t at = 0; at < term.size(); ++at) {
    if (term.substr(at, 3) == "...") {
      for (size_t dot = most - dots; dot < most; ++dot) labels += static_cast<char>(kFirstDot + dot);
      at += 2;
    } else if ((term[at] >= 'a' && term[at] <= 'z') || (term[at] >= 'A' && term[at] <= 'Z')) {
      labels += term[at];
    } else {
      return invalid_argument(cat("term '", term, "' of the equation is not letters and one ellipsis"));
    }
  }
  return labels;
}

// Letters that appear once, in the alphabet's order, behind the axes of the ellipsis.
Labels implicit_output(const std::vector<Operand>& operands) {
  std::map<char, int> counts;
  for (const Operand& operand : operands)
    for (const char label : operand.labels) ++counts[label];
  Labels labels;
  for (const auto& [label, count] : counts)
    if (count == 1 || label < 'A') labels += label;
  return labels;
}

std::vector<std::string> terms_of(std::string_view text) {
  std::vector<std::string> terms;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    terms.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return terms;
}

// Axes of one name within one operand must be of one extent: they name its diagonal.
Status check_diagonals(const Labels& labels, const Shape& shape) {
  for (size_t at = 0; at < labels.size(); ++at) {
    const size_t first = labels.find(labels[at]);
    if (shape[first] == shape[at]) continue;
    return invalid_argument(cat("axes ", first, " and ", at, " of ", shape_text(shape), " have one name and differ"));
  }
  return ok_status();
}

struct Equation {
  std::vector<Operand> operands;
  Labels output;
};

Result<Equation> parse(NodeContext& c) {
  std::string text = c.text("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  const std::vector<std::string> terms = terms_of(std::string_view(text).substr(0, arrow));
  if (terms.size() != c.inputs().size()) {
    return invalid_argument(
        cat("equation '", text, "' has ", terms.size(), " terms for ", c.inputs().size(), " inputs"));
  }
  std::vector<size_t> dots;
  for (size_t at = 0; at < terms.size(); ++at) {
    const bool has_dots = terms[at].find("...") != std::string::npos;
    const auto rank = static_cast<size_t>(c.emit.rank(c.in(at))), letters = terms[at].size() - (has_dots ? 3 : 0);
    if (has_dots ? rank < letters || rank - letters > kMaxDots : rank != letters) {
      return invalid_argument(cat("term '", terms[at], "' does not fit ", c.emit.builder().tensor_text(c.in(at))));
    }
    dots.push_back(rank - letters);
  }
  const size_t most = *std::max_element(dots.begin(), dots.end());
  Equation equation;
  for (size_t at = 0; at < terms.size(); ++at) {
    BP_TRY_ASSIGN(Labels labels, labels_of(terms[at], dots[at], most));
    BP_TRY(check_diagonals(labels, c.emit.shape(c.in(at))));
    equation.operands.push_back({c.in(at), std::move(labels)});
  }
  if (arrow == std::string::npos) {
    equation.output = implicit_output(equation.operands);
    return equation;
  }
  BP_TRY_ASSIGN(equation.output, labels_of(std::string_view(text).substr(arrow + 2), most, most));
  return equation;
}

class Einsum {
 public:
  explicit Einsum(Emitter& emit) : f_(emit) {}

  Result<TensorId> run(Equation equation) {
    std::vector<Operand>& operands = equation.operands;
    for (Operand& operand : operands) operand = diagonal(std::move(operand));
    BP_TRY(measure(equation));
    for (Operand& operand : operands) operand = spread(std::move(operand));
    Operand united = operands[0];
    for (size_t at = 1; at < operands.size(); ++at) {
      Labels needed = equation.output;
      for (size_t later = at + 1; later < operands.size(); ++later) needed += operands[later].labels;
      united = multiply(united, operands[at], needed);
    }
    united = sum_others(std::move(united), equation.output);
    const TensorId result = arranged(united, equation.output);
    return f_.result(result);
  }

 private:
  // The extent of every label. Errors: extents that differ, a label that only the output has or has twice.
  Status measure(const Equation& equation) {
    BP_TRY(f_.status());
    for (const Operand& operand : equation.operands) {
      const Shape shape = f_.shape(operand.tensor);
      for (size_t at = 0; at < shape.size(); ++at) {
        int64_t& extent = extents_.emplace(operand.labels[at], 1).first->second;
        if (extent == 1) extent = shape[at];
        if (shape[at] != extent && shape[at] != 1) {
          return invalid_argument(cat("extents ", extent, " and ", shape[at], " of one axis of the equation differ"));
        }
      }
    }
    for (const char label : equation.output) {
      if (extents_.count(label) == 0 || std::count(equation.output.begin(), equation.output.end(), label) > 1) {
        return invalid_argument(cat("the equation's output has '", std::string(1, label), "' twice or only there"));
      }
    }
    return ok_status();
  }

  // Axes of one name become their diagonal: every (extent + 1)-th of their elements. It comes last.
  Operand diagonal(Operand x) {
    for (size_t first = 0; first < x.labels.size(); ++first) {
      const size_t second = x.labels.find(x.labels[first], first + 1);
      if (second != Labels::npos) return f_.status().ok() ? diagonal(joined(x, first, second)) : x;
    }
    return x;
  }

  Operand joined(const Operand& x, size_t first, size_t second) {
    const Shape shape = f_.shape(x.tensor);
    const int64_t extent = shape[first];
    int64_t square_extent = 0;
    if (__builtin_mul_overflow(extent, extent, &square_extent)) square_extent = -1;  // which reshape refuses
    Operand made;
    Shape order, flat;
    for (size_t at = 0; at < shape.size(); ++at) {
      if (at == first || at == second) continue;
      order.push_back(static_cast<int64_t>(at));
      flat.push_back(shape[at]);
      made.labels += x.labels[at];
    }
    order.insert(order.end(), {static_cast<int64_t>(first), static_cast<int64_t>(second)});
    flat.push_back(square_extent);
    made.labels += x.labels[first];
    const TensorId square = f_.reshape(f_.permute(x.tensor, order), flat);
    made.tensor = f_.slice(square, static_cast<int64_t>(flat.size()) - 1, 0, extent, extent + 1);
    return made;
  }

  Operand spread(Operand x) {
    Shape shape;
    for (const char label : x.labels) shape.push_back(extents_[label]);
    x.tensor = f_.broadcast(x.tensor, shape);
    return x;
  }

  Operand sum_others(Operand x, const Labels& needed) {
    Shape axes;
    Labels left;
    for (size_t at = 0; at < x.labels.size(); ++at) {
      if (holds(needed, x.labels[at]))
        left += x.labels[at];
      else
        axes.push_back(static_cast<int64_t>(at));
    }
    if (!axes.empty()) x.tensor = f_.reduce(Op::kREDUCE_SUM, x.tensor, axes, false);
    x.labels = left;
    return x;
  }

  TensorId arranged(const Operand& x, const Labels& wanted) {
    Shape order;
    for (const char label : wanted) order.push_back(static_cast<int64_t>(x.labels.find(label)));
    return f_.permute(x.tensor, order);
  }

  // -1, which no shape has, where the product overflows.
  int64_t extent_of(const Labels& labels) {
    int64_t product = 1;
    for (const char label : labels)
      if (__builtin_mul_overflow(product, extents_[label], &product)) return -1;
    return product;
  }

  // Labels of both operands that are needed later are batches; those that are not are summed by the product.
  Operand multiply(Operand a, Operand b, const Labels& needed) {
    a = sum_others(std::move(a), needed + b.labels);
    b = sum_others(std::move(b), needed + a.labels);
    Labels batch, summed, rows, columns;
    for (const char label : a.labels) (!holds(b.labels, label) ? rows : holds(needed, label) ? batch : summed) += label;
    for (const char label : b.labels)
      if (!holds(a.labels, label)) columns += label;
    const int64_t n = extent_of(batch), k = extent_of(summed);
    const TensorId left = f_.reshape(arranged(a, batch + rows + summed), {n, extent_of(rows), k});
    const TensorId right = f_.reshape(arranged(b, batch + summed + columns), {n, k, extent_of(columns)});
    const Labels labels = batch + rows + columns;
    Shape shape;
    for (const char label : labels) shape.push_back(extents_[label]);
    return {f_.reshape(f_.op(Op::kMATMUL, {left, right}), shape), labels};
  }

  Formula f_;
  std::map<char, int64_t> extents_;
};

Status einsum(NodeContext& c) {
  BP_TRY_ASSIGN(Equation equation, parse(c));
  return c.set(0, Einsum(c.emit).run(std::move(equation)));
}

}  // namespace

std::span<const Lowering> einsum_lowerings() {
  static constexpr Lowering kRows[] = {{"Einsum", 12, 1, einsum}};
  return kRows;
}

}  // namespace backplane::onnx_import
