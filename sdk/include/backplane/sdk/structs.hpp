// Reading and writing growable structs by the rules R4, R5 and R9 of base.h. Thread safety: pure functions.
#pragma once

#include <cstring>
#include <string>

#include "backplane/abi/base.h"
#include "backplane/sdk/error.hpp"

namespace backplane::sdk {

// Throws if the chain holds a struct that must be understood; this helper understands none.
inline void check_chain(const bp_head* next) {
  for (; next != nullptr; next = next->next)
    if ((next->kind & BP_KIND_MUST_UNDERSTAND) != 0)
      throw Error(BP_E_UNSUPPORTED, "a chained struct of kind " + std::to_string(next->kind) +
                                        " must be understood, and this plugin does not know it");
}

// Copies an input struct of any size from `minimum` up into a zeroed local (R4). `minimum` is the size of the 1.0
// prefix. Throws BP_E_INVALID_ARG for NULL, a wrong kind or a short struct.
template <class T>
T read_input(const T* input, uint32_t kind, size_t minimum = sizeof(T)) {
  if (input == nullptr) throw Error(BP_E_INVALID_ARG, "a required struct is NULL");
  if (input->head.kind != kind)
    throw Error(BP_E_INVALID_ARG,
                "wanted a struct of kind " + std::to_string(kind) + ", found kind " + std::to_string(input->head.kind));
  if (input->head.size < minimum)
    throw Error(BP_E_INVALID_ARG, "a struct of kind " + std::to_string(kind) + " has " +
                                      std::to_string(input->head.size) + " bytes, wanted at least " +
                                      std::to_string(minimum));
  check_chain(input->head.next);
  T local{};
  std::memcpy(&local, input, input->head.size < sizeof(T) ? input->head.size : sizeof(T));
  return local;
}

// Writes everything but the head of `value` into the caller's struct, as far as the caller's reaches (R5).
template <class T>
void write_output(T* output, uint32_t kind, const T& value) {
  if (output == nullptr) throw Error(BP_E_INVALID_ARG, "a required struct is NULL");
  if (output->head.kind != kind || output->head.size < sizeof(bp_head))
    throw Error(BP_E_INVALID_ARG, "wanted a struct of kind " + std::to_string(kind) + ", found kind " +
                                      std::to_string(output->head.kind));
  const size_t end = output->head.size < sizeof(T) ? output->head.size : sizeof(T);
  std::memcpy(reinterpret_cast<char*>(output) + sizeof(bp_head),
              reinterpret_cast<const char*>(&value) + sizeof(bp_head), end - sizeof(bp_head));
}

}  // namespace backplane::sdk
