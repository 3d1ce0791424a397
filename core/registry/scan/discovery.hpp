// Discovery: finding candidate files on a search path, without running or trusting any of them.
#pragma once

#include <span>
#include <vector>

#include "backplane/registry/search_path.hpp"
#include "candidate.hpp"

namespace backplane {

// Lists *.json and *.so of every folder, not recursively, in bytewise order of their names. A file that was already
// found under another name or path is left out; one with the name of a file in an earlier folder is stopped as
// "file.shadowed", and a link to /dev/null shadows all later ones ("file.masked"). What cannot be read is stopped with
// a "file." or "path." code. Missing folders that nobody requested are silent.
std::vector<Candidate> discover(std::span<const SearchEntry> entries);

}  // namespace backplane
