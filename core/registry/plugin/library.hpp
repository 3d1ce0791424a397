// Library: a shared object mapped into the process. It stays mapped when the Library is destroyed, because threads,
// destructors and handlers of a plugin may outlive it.
#pragma once

#include <memory>
#include <string>

#include "backplane/abi/plugin.h"
#include "backplane/base/status.hpp"
#include "base/regular_file.hpp"

namespace backplane {

class Library {
 public:
  // Maps the file: all symbols bound at once, none given to others. `path` is absolute, links resolved; `checked` is
  // the file that was examined before. Errors: failed_precondition "dlopen.failed" with the system's text,
  // "library.restart-needed" if the process has had another file of that path since earlier, "dlopen.replaced" if the
  // file was replaced just now.
  static Result<Library> load(const std::string& path, const FileIdentity& checked);
  ~Library();
  Library(Library&&) noexcept;
  Library& operator=(Library&&) noexcept;

  // As the system's loader knows it.
  const std::string& path() const { return path_; }

  // Errors: not_found "symbol.missing"; failed_precondition "symbol.elsewhere" if a dependency defines it.
  Result<bp_get_proc_address_fn> entry_point(const std::string& name) const;

 private:
  struct Handle;
  Library(std::unique_ptr<Handle> handle, std::string path);
  std::unique_ptr<Handle> handle_;
  std::string path_;
};

}  // namespace backplane
