// CpuFeatures: the named abilities of the processor that manifests can require.
// Thread safety: a value.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

class CpuFeatures {
 public:
  // What this processor has and the operating system has switched on (XCR0).
  static CpuFeatures detect();
  // A made-up processor.
  explicit CpuFeatures(std::set<std::string, std::less<>> names) : names_(std::move(names)) {}

  bool has(std::string_view name) const { return names_.contains(name); }
  const std::set<std::string, std::less<>>& names() const { return names_; }
  // Those of `required` that are not here, in that order.
  std::vector<std::string> missing(std::span<const std::string> required) const;

  // Every name that this version can tell, such as "avx2" and "sse4.2".
  static const std::vector<std::string>& known_names();

 private:
  std::set<std::string, std::less<>> names_;
};

}  // namespace backplane
