// AttrList: the attributes of a node while a graph is being built. Keys are BP_ATTR_*.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "backplane/abi/graph.h"

namespace backplane {

using AttrValue = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

struct Attr {
  uint32_t key;
  AttrValue value;
};

class AttrList {
 public:
  AttrList() = default;
  AttrList(std::initializer_list<Attr> items) : items_(items) {}

  // Adds or replaces.
  void set(uint32_t key, AttrValue value);
  const AttrValue* find(uint32_t key) const;
  bool has(uint32_t key) const { return find(key) != nullptr; }
  std::span<const Attr> items() const { return items_; }

  // The value, or the fallback if the attribute is absent or of another type.
  int64_t i64(uint32_t key, int64_t fallback) const;
  double f64(uint32_t key, double fallback) const;
  std::string text(uint32_t key, std::string fallback) const;
  std::vector<int64_t> i64s(uint32_t key) const;
  std::vector<double> f64s(uint32_t key) const;

 private:
  std::vector<Attr> items_;
};

}  // namespace backplane
