// backplane-probe: tries one plugin and says how it went. It is started by run_probes of libbackplane, one process a
// plugin, and is of no use to people. See registry/probe_protocol.hpp for what it is given and what it answers.
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "backplane/base/log.hpp"
#include "backplane/base/text.hpp"
#include "backplane/base/thread_pool.hpp"
#include "base/regular_file.hpp"
#include "registry/plugin/host_services.hpp"
#include "registry/plugin/plugin.hpp"
#include "registry/plugin/plugin_call.hpp"
#include "registry/probe/probe_protocol.hpp"

// A crash must end this process by its signal, also where a sanitizer would rather report it and exit.
extern "C" const char* __asan_default_options() {
  return "handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:detect_leaks=0";
}
extern "C" const char* __tsan_default_options() { return __asan_default_options(); }

namespace backplane {
namespace {

constexpr int kUsage = 2;
constexpr uint32_t kMaxMemoryTypes = 64;  // beyond this a count is garbage; the runtime says so

// No core file: a limit of 1 byte, unlike 0, also keeps the kernel from piping the core to a collector.
void limit_core() {
  rlimit limit = {};
  ::getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(1, limit.rlim_max);
  ::setrlimit(RLIMIT_CORE, &limit);
}

// Nobody may be left with a process that hangs after the host has died, also not if it died just now.
bool die_with_host() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd output = {STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) == 0;  // else nobody is there to read
}

ProbeBoard* map_board() {
  struct stat info = {};
  if (::fstat(kProbeBoardDescriptor, &info) != 0 || info.st_size != sizeof(ProbeBoard)) return nullptr;
  void* const memory =
      ::mmap(nullptr, sizeof(ProbeBoard), PROT_READ | PROT_WRITE, MAP_SHARED, kProbeBoardDescriptor, 0);
  ::close(kProbeBoardDescriptor);
  return memory == MAP_FAILED ? nullptr : static_cast<ProbeBoard*>(memory);
}

std::string read_input() {
  std::string text;
  char bytes[16 << 10];
  while (text.size() <= kProbeRequestMaxBytes) {
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(bytes, static_cast<size_t>(got));
  }
  return text;
}

template <class Struct>
Struct make_struct(uint32_t kind) {
  Struct made = {};
  made.head = {sizeof made, kind, nullptr};
  return made;
}

// Asks what the runtime will ask. An orderly failure is that of one device and no reason to refuse the plugin.
void read_devices(const Plugin& plugin) {
  const bp_device_i& table = *plugin.tables().device_i;
  for (bp_device* device : plugin.devices()) {
    auto info = make_struct<bp_device_info>(BP_KIND_DEVICE_INFO);
    const auto get_info = [&](bp_error* error) { return table.get_info(device, &info, error); };
    if (!call_plugin("get_info", get_info).ok()) continue;
    for (uint32_t i = 0; i < std::min(info.memtype_count, kMaxMemoryTypes); ++i) {
      auto memory = make_struct<bp_memtype_info>(BP_KIND_MEMTYPE_INFO);
      const auto get_memtype = [&](bp_error* error) { return table.get_memtype(device, i, &memory, error); };
      if (!call_plugin("get_memtype", get_memtype).ok()) break;
    }
  }
}

Status try_plugin(const ProbeRequest& request, LoadStage* stage) {
  *stage = LoadStage::dlopen;
  BP_TRY_ASSIGN(const RegularFile library, RegularFile::open(request.library_path));
  const Logger log([](LogLevel, std::string_view topic, std::string_view text) {
    std::fprintf(stderr, "%s\n", cat(topic, ": ", text).c_str());
  });
  ThreadPool workers(1);
  HostServices host(log, workers);
  Manifest manifest;
  manifest.id = request.plugin_id;
  manifest.entry_point = request.entry_point;
  manifest.options = request.default_options;
  const PluginSource source = {manifest,        request.library_path, library.identity(),
                               request.options, request.host_name,    host};
  BP_TRY_ASSIGN(std::unique_ptr<Plugin> plugin, Plugin::load(source, stage));
  *stage = LoadStage::enumerate;
  read_devices(*plugin);
  *stage = LoadStage::active;
  plugin.reset();
  return {};
}

void post(const Status& status, ProbeBoard* board) {
  ProbeVerdict verdict;
  verdict.end = status.ok() ? ProbeVerdict::End::passed : ProbeVerdict::End::refused;
  verdict.stage = board->stage;
  verdict.code = status.ok() || !status.id().empty() ? status.id() : code_name(status.code());
  verdict.message = shortened(printable(status.message()), 4096);
  const std::string text = to_json_text(verdict);
  std::memcpy(board->text, text.data(), std::min(text.size(), sizeof board->text));
  board->text_bytes = static_cast<uint32_t>(text.size());
}

int run() {
  ProbeBoard* const board = map_board();
  if (board == nullptr) {
    std::fprintf(stderr, "backplane-probe: libbackplane runs this program to try plugins; it does nothing by itself\n");
    return kUsage;
  }
  limit_core();
  if (!die_with_host()) return kUsage;
  const Result<ProbeRequest> request = parse_probe_request(read_input());
  if (!request.ok()) {
    std::fprintf(stderr, "backplane-probe: %s\n", request.status().to_string().c_str());
    return kUsage;
  }
  post(try_plugin(*request, &board->stage), board);
  return 0;
}

}  // namespace
}  // namespace backplane

// Ends without destructors and exit handlers: a plugin's are no part of the trial, and its threads may still run.
int main() {
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // what was printed before a crash must not be lost with it
  ::_exit(backplane::run());
}
