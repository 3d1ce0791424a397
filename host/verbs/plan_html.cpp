#include "plan_html.hpp"

#include <algorithm>
#include <cstdio>

#include "backplane/base/text.hpp"

namespace backplane::cli {
namespace {

constexpr double kWidth = 1200, kHeight = 360, kStrip = 16;  // of a map and of the strip of tasks above it, in pixels

constexpr std::string_view kStyle =
    "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:2px 10px;text-align:left;border-bottom:1px solid #ddd}"
    "svg{border:1px solid #999;background:#fafafa;display:block;margin:.5em 0 1.5em}"
    "rect{stroke:#fff;stroke-width:.3}rect.taken{stroke:#000;stroke-width:1;stroke-dasharray:2}"
    "rect:hover{stroke:#000;stroke-width:1.5}";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string pixels(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

// Neighbouring numbers get colours that are far apart.
std::string colour(uint32_t number, int lightness) {
  return cat("hsl(", uint64_t{number} * 137 % 360, ",55%,", lightness, "%)");
}

struct Box {
  double x, y, width, height;
};

std::string rectangle(std::string_view kind, const Box& box, const std::string& fill, const std::string& title) {
  return cat("<rect class=\"", kind, "\" x=\"", pixels(box.x), "\" y=\"", pixels(box.y), "\" width=\"",
             pixels(std::max(box.width, 0.5)), "\" height=\"", pixels(std::max(box.height, 0.5)), "\" fill=\"", fill,
             "\"><title>", escaped(title), "</title></rect>\n");
}

class Page {
 public:
  explicit Page(const Plan& plan) : plan_(plan) {
    for (const Task& task : plan.tasks) {
      first_steps_.push_back(steps_);
      steps_ += task.is_copy ? 1 : plan.splits[task.index].node_count;
    }
  }

  std::string make(std::string_view title) {
    add("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><meta charset=\"utf-8\"/><title>",
        escaped(title), "</title><style>", kStyle, "</style></head><body>\n<h1>", escaped(title), "</h1>\n<p>",
        counted(plan_.graph->node_count(), "node", "nodes"), " on ", escaped(join(plan_.device_names, ", ")), ", mode ",
        mode_name(plan_.mode), "; ", bytes_text(plan_.weight_bytes), " of weights, ", bytes_text(plan_.copy_bytes),
        " copied in a run</p>\n<p>In the maps of memory time goes to the right, above them by splits and copies "
        "(grey), and addresses go up. What is dashed takes over the memory of an operand.</p>\n");
    add_splits();
    for (uint32_t pool = 0; pool < plan_.pools.size(); ++pool) add_pool(pool);
    add("</body></html>");
    return std::move(text_);
  }

 private:
  template <class... Parts>
  void add(const Parts&... parts) {
    text_ += cat(parts...);
  }

  double x_of(uint64_t step) const {
    return kWidth * static_cast<double>(std::min<uint64_t>(step, steps_)) / std::max(steps_, 1u);
  }

  void add_splits() {
    add("<h2>Splits</h2>\n<table><tr><th>split</th><th>device</th><th>nodes</th><th>first</th><th>last</th></tr>\n");
    for (size_t i = 0; i < plan_.splits.size(); ++i) {
      const Split& split = plan_.splits[i];
      const auto op_of = [&](NodeId node) { return op_name(plan_.graph->op(node)); };
      add("<tr class=\"split\"><td>", i, "</td><td>", escaped(plan_.device_names[split.device]), "</td><td>",
          split.node_count, "</td><td>", escaped(op_of(plan_.nodes(split).front())), "</td><td>",
          escaped(op_of(plan_.nodes(split).back())), "</td></tr>\n");
    }
    add("</table>\n");
  }

  void add_pool(uint32_t number) {
    const Pool& pool = plan_.pools[number];
    add("<h2>", escaped(plan_.device_names[pool.device]), ": ",
        pool.kind == PoolKind::arena ? "activations" : "graph inputs and outputs", "</h2>\n<p>peak ",
        bytes_text(pool.peak_bytes), ", bound ", bytes_text(pool.lower_bound_bytes), ", found by ",
        escaped(pool.method), " with ", pool.comparisons, " comparisons</p>\n");
    for (uint32_t chunk = 0; chunk < pool.chunk_bytes.size(); ++chunk) add_chunk(number, chunk);
  }

  // Time from left to right, addresses from below.
  void add_chunk(uint32_t pool, uint32_t chunk) {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", kWidth, "\" height=\"", kHeight + kStrip,
        "\" viewBox=\"0 0 ", kWidth, " ", kHeight + kStrip, "\">\n");
    add_tasks();
    const uint64_t bytes = std::max<uint64_t>(plan_.pools[pool].chunk_bytes[chunk], 1);
    const auto height_of = [&](uint64_t part) {
      return kHeight * static_cast<double>(part) / static_cast<double>(bytes);
    };
    for (const Residence& residence : plan_.residences) {
      if (residence.pool != pool || residence.chunk != chunk) continue;
      const uint64_t own = plan_.graph->storage(residence.storage).bytes;
      const double left = x_of(residence.first_step), height = height_of(own);
      const Box box{left, kStrip + kHeight - height_of(residence.offset) - height,
                    x_of(uint64_t{residence.last_step} + 1) - left, height};
      const bool taken = residence.in_place_of != kNone;
      add(rectangle(taken ? "tensor taken" : "tensor", box, colour(residence.storage, 65), text_of(residence, own)));
    }
    add("</svg>\n");
  }

  std::string text_of(const Residence& residence, uint64_t bytes) const {
    const auto root = [&](StorageId storage) { return plan_.graph->tensor_text(plan_.graph->storage(storage).root); };
    return cat(root(residence.storage), ": ", bytes_text(bytes), " at ", residence.offset, ", steps ",
               residence.first_step, " to ", residence.last_step,
               residence.in_place_of == kNone ? "" : cat(", in place of ", root(residence.in_place_of)));
  }

  void add_tasks() {
    for (size_t i = 0; i < plan_.tasks.size(); ++i) {
      const Task& task = plan_.tasks[i];
      const uint32_t steps = task.is_copy ? 1 : plan_.splits[task.index].node_count;
      const double left = x_of(first_steps_[i]);
      add(rectangle("task", {left, 0, x_of(first_steps_[i] + uint64_t{steps}) - left, kStrip - 4},
                    task.is_copy ? "#555" : colour(task.device + 3, 45),
                    cat(task.is_copy ? "copy " : "split ", task.index, " on ", plan_.device_names[task.device])));
    }
  }

  const Plan& plan_;
  std::vector<uint32_t> first_steps_;  // by task
  uint32_t steps_ = 0;
  std::string text_;
};

}  // namespace

std::string plan_html(const Plan& plan, std::string_view title) { return Page(plan).make(title); }

}  // namespace backplane::cli
