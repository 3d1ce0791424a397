// PluginTables: own, complete copies of a plugin's function tables.
//
// The copies have every slot of this version: what the plugin is too old for or leaves out does nothing, answers
// BP_E_UNSUPPORTED, or gives NULL, so that nobody has to look before a call. Thread safety: read-only once made.
#pragma once

#include "backplane/abi/plugin.h"
#include "backplane/base/status.hpp"

namespace backplane {

class PluginTables {
 public:
  PluginTables() = default;
  PluginTables(const PluginTables&) = delete;
  PluginTables& operator=(const PluginTables&) = delete;

  // Checks and copies. Errors: failed_precondition "tables.missing", "tables.kind", "tables.size" or "tables.slot",
  // naming table and slot; the tables are then not to be used.
  Status adopt(const bp_opened& opened);

  // The tables are this object's.
  const bp_opened& opened() const { return opened_; }

 private:
  bp_plugin_i plugin_{};
  bp_device_i device_{};
  bp_buffer_i buffer_{};
  bp_stream_i stream_{};
  bp_event_i event_{};
  bp_program_i program_{};
  bp_opened opened_{};
};

}  // namespace backplane
