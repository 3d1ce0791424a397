// NumPy .npy files (format versions 1.0 to 3.0) as HostTensors. Source: numpy.lib.format.
#pragma once

#include <string>
#include <string_view>

#include "backplane/base/status.hpp"
#include "backplane/graph/host_tensor.hpp"

namespace backplane {

// Reads C- or Fortran-ordered, little-endian arrays of the plain types. Errors: not_found, invalid_argument naming
// the file and the fault.
Result<HostTensor> read_npy(const std::string& path);
Result<HostTensor> parse_npy(std::string_view bytes, const std::string& name);

// Writes version 1.0, C order. bf16 is written as f32. Errors: what the system says.
Status write_npy(const std::string& path, const HostTensor& tensor);

}  // namespace backplane
