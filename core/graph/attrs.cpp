#include "backplane/graph/attrs.hpp"

namespace backplane {

void AttrList::set(uint32_t key, AttrValue value) {
  for (Attr& item : items_) {
    if (item.key != key) continue;
    item.value = std::move(value);
    return;
  }
  items_.push_back({key, std::move(value)});
}

const AttrValue* AttrList::find(uint32_t key) const {
  for (const Attr& item : items_)
    if (item.key == key) return &item.value;
  return nullptr;
}

namespace {

template <class T>
T get_or(const AttrList& list, uint32_t key, T fallback) {
  const AttrValue* value = list.find(key);
  const T* typed = value ? std::get_if<T>(value) : nullptr;
  return typed ? *typed : std::move(fallback);
}

}  // namespace

int64_t AttrList::i64(uint32_t key, int64_t fallback) const { return get_or<int64_t>(*this, key, fallback); }
double AttrList::f64(uint32_t key, double fallback) const { return get_or<double>(*this, key, fallback); }
std::string AttrList::text(uint32_t key, std::string fallback) const {
  return get_or<std::string>(*this, key, std::move(fallback));
}
std::vector<int64_t> AttrList::i64s(uint32_t key) const { return get_or<std::vector<int64_t>>(*this, key, {}); }
std::vector<double> AttrList::f64s(uint32_t key) const { return get_or<std::vector<double>>(*this, key, {}); }

}  // namespace backplane
