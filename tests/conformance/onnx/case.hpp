// One of ONNX's test models with its inputs and wanted outputs, run through the importer and a Session.
// Thread safety: one thread.
#pragma once

#include <string>

#include "backplane/runtime/runtime.hpp"

namespace backplane::testing {

enum class Verdict { passed, failed, unsupported };

struct Outcome {
  Verdict verdict = Verdict::passed;
  std::string why;  // of a failure, or of what is not supported
};

// `folder` holds model.onnx and test_data_set_0. Not supported is what the importer or the device declines in words:
// an op, a type, an opset. All else that is not the wanted output is a failure.
// With two devices or more, nodes run on all of them in turn.
Outcome run_case(Runtime& runtime, const std::string& folder);

}  // namespace backplane::testing
