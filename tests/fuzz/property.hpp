// Properties: what the fuzz targets hold against what they got. One that does not hold ends the program, which is how a
// fuzzer learns of it. Thread safety: pure functions.
#pragma once

#include <span>
#include <string_view>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"

namespace backplane {

// Prints the property and aborts unless it holds.
void require(bool holds, std::string_view property);

// What every refusal owes its reader: this code, an id out of `ids` behind "<area>.", and a message that is short,
// UTF-8, and one line.
void require_refusal(const Status& status, Code code, std::string_view area, std::span<const std::string_view> ids);

// The fault lies within the text, and the message starts with it.
void require_place(const Status& status, JsonFault fault, std::string_view text, std::string_view file);

// What the reader of one JSON document promises for all it refuses, whatever the document. Holds `ids` besides those of
// every document.
void require_document_refusal(const Status& status, JsonFault fault, std::string_view text, std::string_view file,
                              std::string_view area, std::span<const std::string_view> ids);

// At most `most` characters and at least one, all from `letters`.
bool consists_of(std::string_view text, std::string_view letters, size_t most);
bool is_utf8(std::string_view text);

}  // namespace backplane
