// Pins: the content that a library must have.
#pragma once

#include <string>

#include "backplane/base/status.hpp"
#include "base/regular_file.hpp"

namespace backplane {

// The SHA-256 of the whole file in lower-case hexadecimal digits. Errors: as RegularFile::read.
Result<std::string> file_digest(const RegularFile& file);

// Whether the file has the digest that `who` demands; an empty digest demands nothing. Errors: data_loss
// "pin.mismatch" with both digests; as file_digest.
Status check_pin(const RegularFile& file, const std::string& sha256, const std::string& who);

}  // namespace backplane
