// SHA-256 (FIPS 180-4), for pins and for keys by content.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace backplane {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  // 64 lower-case hexadecimal digits; the object starts anew.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace backplane
