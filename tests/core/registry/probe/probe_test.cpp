#include "registry/probe/probe.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "backplane/abi/plugin.h"
#include "fixtures/plugin_world.hpp"
#include "registry/probe/probe_protocol.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;
using End = ProbeVerdict::End;
using std::chrono::milliseconds;

constexpr milliseconds kAmple{120'000};
#if defined(__x86_64__)
constexpr int kTrapSignal = SIGILL;
#else
constexpr int kTrapSignal = SIGTRAP;
#endif

ProbeVerdict ended(End end, LoadStage stage, int number = 0, const std::string& code = {}) {
  ProbeVerdict verdict;
  verdict.end = end;
  verdict.stage = stage;
  verdict.number = number;
  verdict.code = code;
  return verdict;
}

// What a library, a fixture or a copy of `bad` of that name, comes to.
struct Case {
  const char* library;
  End end;
  LoadStage stage;
  int number = 0;
  const char* code = "";
};

class ProbeTest : public ::testing::Test {
 protected:
  ProbeRequest request(const std::string& library) {
    fs::path path = fixture_library(library);
    if (!fs::exists(path)) {
      path = world_.root() / (library + ".so");
      fs::copy_file(fixture_library("bad"), path, fs::copy_options::skip_existing);
    }
    ProbeRequest made;
    made.library_path = path;
    made.plugin_id = "org.test.toy";
    made.entry_point = BP_ENTRY_POINT;
    made.host_name = "test";
    return made;
  }
  std::vector<Result<ProbeVerdict>> run(std::span<const Case> cases, milliseconds limit) {
    std::vector<ProbeRequest> requests;
    for (const Case& one : cases) requests.push_back(request(one.library));
    return run_probes(helper_, requests, limit);
  }
  Result<ProbeVerdict> run(const std::string& library, milliseconds limit = kAmple) {
    const ProbeRequest one[] = {request(library)};
    return run_probes(helper_, one, limit).at(0);
  }
  void expect(std::span<const Case> cases) {
    const auto verdicts = run(cases, kAmple);
    ASSERT_EQ(verdicts.size(), cases.size());
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(cases[i].library);
      ASSERT_TRUE(verdicts[i].ok()) << verdicts[i].status().to_string();
      const ProbeVerdict& verdict = *verdicts[i];
      EXPECT_EQ(static_cast<int>(verdict.end), static_cast<int>(cases[i].end)) << to_json_text(verdict);
      EXPECT_EQ(stage_name(verdict.stage), stage_name(cases[i].stage));
      EXPECT_EQ(verdict.number, cases[i].number);
      EXPECT_EQ(verdict.code, cases[i].code);
      EXPECT_EQ(verdict.message.empty(), verdict.code.empty());
      EXPECT_GT(verdict.elapsed_ns, 0u);
    }
  }

  PluginWorld world_;
  std::string helper_ = probe_helper_path().value();
};

// Waits for the end of a process that need not be a child.
bool is_gone(pid_t process) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (handle < 0) return errno == ESRCH;
  pollfd wanted = {handle, POLLIN, 0};
  const bool ended = ::poll(&wanted, 1, 60'000) == 1;
  ::close(handle);
  return ended;
}

TEST_F(ProbeTest, OrderlyEnds) {
  const Case cases[] = {
      {"toy", End::passed, LoadStage::active},
      {"toy_no_devices", End::passed, LoadStage::active},
      {"toy_info_error", End::passed, LoadStage::active},
      {"toy_bad_name", End::passed, LoadStage::active},
      {"toy_huge_table", End::passed, LoadStage::active},
      {"toy_throws_close", End::passed, LoadStage::active},
      {"toy_undefined_symbol", End::refused, LoadStage::dlopen, 0, "dlopen.failed"},
      {"toy_missing_library", End::refused, LoadStage::dlopen, 0, "dlopen.failed"},
      {"toy_no_entry", End::refused, LoadStage::symbol, 0, "symbol.missing"},
      {"toy_refuses", End::refused, LoadStage::negotiate, 0, "negotiate.incompatible"},
      {"toy_negotiate_fails", End::refused, LoadStage::negotiate, 0, "negotiate.failed"},
      {"toy_future_abi", End::refused, LoadStage::negotiate, 0, "negotiate.bad-reply"},
      {"toy_null_id", End::refused, LoadStage::negotiate, 0, "negotiate.bad-reply"},
      {"toy_reply_size", End::refused, LoadStage::negotiate, 0, "negotiate.bad-reply"},
      {"toy_cpu", End::refused, LoadStage::negotiate, 0, "negotiate.id-mismatch"},
      {"toy_throws_negotiate", End::refused, LoadStage::negotiate, 0, "plugin.threw"},
      {"toy_no_hardware", End::refused, LoadStage::probe, 0, "probe.no-hardware"},
      {"toy_open_error", End::refused, LoadStage::open, 0, "open.failed"},
      {"toy_null_slot", End::refused, LoadStage::open, 0, "tables.slot"},
      {"toy_throws_open", End::refused, LoadStage::open, 0, "plugin.threw"},
      {"toy_throws_count", End::refused, LoadStage::enumerate, 0, "plugin.threw"},
      {"toy_null_device", End::refused, LoadStage::enumerate, 0, "enumerate.bad-device"},
      {"toy_many_devices", End::refused, LoadStage::enumerate, 0, "enumerate.bad-device"},
      {"toy_same_device", End::refused, LoadStage::enumerate, 0, "enumerate.bad-device"},
  };
  expect(cases);
}

TEST_F(ProbeTest, DeadlyEnds) {
  const Case cases[] = {
      {"constructor-trap", End::crashed, LoadStage::dlopen, kTrapSignal},
      {"constructor-abort", End::crashed, LoadStage::dlopen, SIGABRT},
      {"constructor-quit", End::exited, LoadStage::dlopen, 3},
      {"constructor-exit0", End::exited, LoadStage::dlopen, 0},
      {"constructor-kill", End::crashed, LoadStage::dlopen, SIGTERM},
      {"entry-segv", End::crashed, LoadStage::negotiate, SIGSEGV},
      {"negotiate-abort", End::crashed, LoadStage::negotiate, SIGABRT},
      {"reply-unterminated", End::crashed, LoadStage::negotiate, SIGSEGV},
      {"probe-trap", End::crashed, LoadStage::probe, kTrapSignal},
      {"open-abort", End::crashed, LoadStage::open, SIGABRT},
      {"open-segv", End::crashed, LoadStage::open, SIGSEGV},
      {"open-overflow", End::crashed, LoadStage::open, SIGSEGV},
      {"open-exit", End::exited, LoadStage::open, 3},
      {"open-scrawl", End::exited, LoadStage::open, 3},
      {"open-forge", End::exited, LoadStage::active, 3},
      {"open-vandal", End::exited, LoadStage::dlopen, 0},
      {"enumerate-abort", End::crashed, LoadStage::enumerate, SIGABRT},
      {"info-segv", End::crashed, LoadStage::enumerate, SIGSEGV},
      {"close-abort", End::crashed, LoadStage::active, SIGABRT},
      {"close-exit0", End::exited, LoadStage::active, 0},
  };
  expect(cases);
}

TEST_F(ProbeTest, OddDeedsThatHarmNobodyPass) {
  const Case cases[] = {
      {"constructor-closefds", End::passed, LoadStage::active},
      {"open-scribble", End::passed, LoadStage::active},
      {"open-thread", End::passed, LoadStage::active},
      {"constructor-handlers", End::passed, LoadStage::active},
      {"open-key", End::passed, LoadStage::active},
      {"open-atexit", End::passed, LoadStage::active},
      {"info-tls", End::passed, LoadStage::active},
      {"unknown-abort", End::passed, LoadStage::active},
  };
  expect(cases);
}

// A stage counts as reached only if the child got there in time, which a loaded machine may need longer for.
TEST_F(ProbeTest, HangsEndAtTheLimitInTheirStage) {
  const Case cases[] = {
      {"constructor-hang", End::timed_out, LoadStage::dlopen},
      {"entry-hang", End::timed_out, LoadStage::negotiate},
      {"negotiate-hang", End::timed_out, LoadStage::negotiate},
      {"probe-hang", End::timed_out, LoadStage::probe},
      {"open-hang", End::timed_out, LoadStage::open},
      {"enumerate-hang", End::timed_out, LoadStage::enumerate},
      {"info-hang", End::timed_out, LoadStage::enumerate},
      {"close-hang", End::timed_out, LoadStage::active},
      {"open-stop", End::timed_out, LoadStage::open},
  };
  std::string found, wanted;
  for (milliseconds limit{300}; limit < kAmple && (found.empty() || found != wanted); limit *= 4) {
    found = wanted = "";
    const auto verdicts = run(cases, limit);
    for (size_t i = 0; i < verdicts.size(); ++i) {
      wanted += std::string(cases[i].library) + ": " + std::string(stage_name(cases[i].stage)) + "\n";
      found += std::string(cases[i].library) + ": ";
      found += verdicts[i].ok() ? std::string(stage_name(verdicts[i]->stage)) : verdicts[i].status().to_string();
      found += "\n";
      if (verdicts[i].ok()) {
        EXPECT_EQ(verdicts[i]->end, End::timed_out);
        EXPECT_GE(verdicts[i]->elapsed_ns, uint64_t{300'000'000});
      }
    }
  }
  EXPECT_EQ(found, wanted);
}

TEST_F(ProbeTest, KeepsTheEndOfWhatIsPrinted) {
  const Result<ProbeVerdict> verdict = run("open-print");
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->end, End::passed);
  EXPECT_LE(verdict->output.size(), size_t{64 << 10});
  EXPECT_GT(verdict->output.size(), size_t{60 << 10});
  EXPECT_TRUE(verdict->output.ends_with("0016383\nlast words \\xff\\x01\n")) << verdict->output.substr(60 << 10);
  EXPECT_EQ(parse_probe_verdict(to_json_text(*verdict))->output, verdict->output);
}

TEST_F(ProbeTest, KeepsWarningsOfThePluginsThreads) {
  EXPECT_EQ(run("opened-log")->output, "org.test.toy: from a thread of its own\n");
  EXPECT_EQ(run("toy")->output, "");
}

TEST_F(ProbeTest, GrandchildrenNeitherDelayNorOutliveTheTrial) {
  const Result<ProbeVerdict> verdict = run("open-fork");
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->end, End::passed);
  const pid_t grandchild = std::stoi(verdict->output);
  EXPECT_TRUE(is_gone(grandchild));
}

TEST_F(ProbeTest, ADaemonThatKeepsThePipeDoesNotDelay) {
  const Result<ProbeVerdict> verdict = run("open-daemon");
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->end, End::passed);
  const pid_t daemon = std::stoi(verdict->output);
  EXPECT_EQ(::kill(daemon, SIGKILL), 0) << "it has left the group and cannot be found";
}

TEST_F(ProbeTest, OptionsAndNamesReachThePlugin) {
  ProbeRequest requests[] = {request("toy"), request("toy"), request("toy_cpu")};
  requests[0].default_options = Json::object({{"name", Json::text("x")}});
  requests[0].options = Json::object({{"name", Json::text("y")}});
  requests[1].options = Json::object({{"nonsense", Json::text("y")}});
  requests[2].plugin_id = "org.test.toy-cpu";
  const auto verdicts = run_probes(helper_, requests, kAmple);
  EXPECT_EQ(verdicts[0]->end, End::passed);
  EXPECT_EQ(verdicts[1]->code, "open.failed");
  EXPECT_EQ(verdicts[2]->end, End::passed);
}

TEST_F(ProbeTest, WhatCannotBeTriedIsAnErrorOfThatRequest) {
  ProbeRequest requests[] = {request("toy"), request("toy"), request("toy")};
  requests[0].library_path = "toy.so";
  requests[1].library_path = "/folder\xff/toy.so";
  const auto verdicts = run_probes(helper_, requests, kAmple);
  EXPECT_EQ(verdicts[0].status().id(), "probe.spawn");
  EXPECT_EQ(verdicts[1].status().id(), "probe.spawn");
  EXPECT_EQ(verdicts[2]->end, End::passed);
  EXPECT_TRUE(run_probes(helper_, {}, kAmple).empty());
}

TEST_F(ProbeTest, AMissingLibraryIsRefused) {
  ProbeRequest requests[] = {request("toy")};
  requests[0].library_path = world_.root() / "missing.so";
  EXPECT_EQ(run_probes(helper_, requests, kAmple)[0]->code, "file.missing");
}

TEST_F(ProbeTest, TroubleWithTheHelperIsNotBlamedOnThePlugin) {
  const fs::path text = world_.write(world_.root() / "text", "no program");
  for (const std::string& helper : {std::string("/nowhere/backplane-probe"), std::string("/bin/true"),
                                    std::string("/bin/false"), text.string(), world_.root().string()}) {
    helper_ = helper;
    const Result<ProbeVerdict> verdict = run("toy");
    ASSERT_FALSE(verdict.ok()) << helper;
    EXPECT_EQ(verdict.status().id(), "probe.spawn") << helper;
  }
}

TEST_F(ProbeTest, RunsOutOfDescriptorsInOrder) {
  const ProbeRequest requests[] = {request("toy")};
  // UBSan needs descriptors of its own when it meets a type for the first time.
  EXPECT_TRUE(run("toy").ok());
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  for (rlim_t most = 3; most < 16; ++most) {
    rlimit low = before;
    low.rlim_cur = most;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    const Result<ProbeVerdict> verdict = run_probes(helper_, requests, kAmple)[0];
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(verdict.ok() || verdict.status().id() == "probe.spawn") << verdict.status().to_string();
  }
  EXPECT_TRUE(run("toy").ok());
}

// ---- hosts that are unlike others, each in a process of its own

using ProbeDeathTest = ProbeTest;

TEST_F(ProbeDeathTest, WorksWithoutStandardDescriptors) {
  const auto host = [this] {
    for (int number = 0; number < 16; ++number) ::close(number);
    const Result<ProbeVerdict> good = run("toy"), bad = run("open-print");
    ::_exit(good.ok() && good->end == End::passed && bad.ok() && bad->output.size() > 1000 ? 0 : 1);
  };
  EXPECT_EXIT(host(), ::testing::ExitedWithCode(0), "");
}

TEST_F(ProbeDeathTest, WorksWhereChildrenAreIgnored) {
  const auto host = [this] {
    ::signal(SIGCHLD, SIG_IGN);
    ::signal(SIGTERM, SIG_IGN);
    const Result<ProbeVerdict> good = run("toy"), bad = run("open-segv"), killed = run("open-kill");
    const auto is_unknown = [](const Result<ProbeVerdict>& verdict) {
      return verdict.ok() && verdict->end == End::exited && verdict->number == -1 && verdict->stage == LoadStage::open;
    };
    ::_exit(good.ok() && good->end == End::passed && is_unknown(bad) && is_unknown(killed) ? 0 : 1);
  };
  EXPECT_EXIT(host(), ::testing::ExitedWithCode(0), "");
}

TEST_F(ProbeDeathTest, WorksWhereAnotherThreadWaitsForEveryChild) {
  const auto host = [this] {
    std::thread([] {
      int status = 0;
      for (;;)
        if (::waitpid(-1, &status, 0) < 0) std::this_thread::yield();
    }).detach();
    for (int i = 0; i < 5; ++i) {
      const Result<ProbeVerdict> good = run("toy"), bad = run("open-segv");
      if (!good.ok() || good->end != End::passed) ::_exit(1);
      if (!bad.ok() || !bad->deadly() || bad->stage != LoadStage::open) ::_exit(2);
    }
    ::_exit(0);
  };
  EXPECT_EXIT(host(), ::testing::ExitedWithCode(0), "");
}

// The children of a host that is killed come to this process.
TEST_F(ProbeDeathTest, TheChildDiesWithTheHost) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const pid_t host = ::fork();
  if (host == 0) {
    static_cast<void>(run("constructor-hang"));
    ::_exit(0);
  }
  const std::string children = "/proc/" + std::to_string(host) + "/task/" + std::to_string(host) + "/children";
  pid_t child = 0;
  while (!(std::ifstream(children) >> child)) std::this_thread::yield();
  const std::string maps = "/proc/" + std::to_string(child) + "/maps";
  for (std::string line; line.find("constructor-hang.so") == std::string::npos;)  // it hangs now
    for (std::ifstream in(maps); std::getline(in, line) && line.find("constructor-hang.so") == std::string::npos;)
      continue;
  ASSERT_EQ(::kill(host, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(host, &status, 0), host);
  EXPECT_TRUE(is_gone(child));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

// ---- texts

ProbeVerdict some_verdict() {
  ProbeVerdict verdict = ended(End::refused, LoadStage::open, 0, "open.failed");
  verdict.message = "no \"luck\" \\ today";
  verdict.output = "one\n\ttwo";
  verdict.elapsed_ns = 12345;
  return verdict;
}

TEST(ProbeProtocol, TextsReadBack) {
  const ProbeVerdict verdict = some_verdict();
  const Result<ProbeVerdict> read = parse_probe_verdict(to_json_text(verdict));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(to_json_text(*read), to_json_text(verdict));
  EXPECT_EQ(read->output, verdict.output);

  ProbeRequest request;
  request.library_path = "/a/\"b\".so";
  request.plugin_id = "org.test.x";
  request.entry_point = "entry";
  request.options = Json::object({{"n", Json::number(1)}, {"i", Json::integer(1)}});
  request.host_name = "host";
  const Result<ProbeRequest> asked = parse_probe_request(to_json_text(request));
  ASSERT_TRUE(asked.ok()) << asked.status().to_string();
  EXPECT_EQ(to_json_text(*asked), to_json_text(request));
  EXPECT_EQ(asked->library_path, request.library_path);
}

// Whatever damage is done to a text, it is refused or still says something that makes sense.
TEST(ProbeProtocol, DamagedTextsDoNoHarm) {
  const std::string text = to_json_text(some_verdict());
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_EQ(parse_probe_verdict(text.substr(0, length)).status().id(), "probe.protocol") << length;
  size_t refused = 0;
  for (size_t at = 0; at < text.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const Result<ProbeVerdict> read = parse_probe_verdict(damaged);
      if (!read.ok()) {
        EXPECT_EQ(read.status().id(), "probe.protocol");
        ++refused;
      } else {
        EXPECT_TRUE(parse_probe_verdict(to_json_text(*read)).ok()) << damaged;
        EXPECT_EQ(read->end, End::refused);
      }
    }
  EXPECT_GT(refused, text.size());
}

TEST(ProbeProtocol, MessagesAreShortWhateverTheText) {
  std::string text = to_json_text(some_verdict());
  const std::string key = "\"stage\": \"";
  text.insert(text.find(key) + key.size(), 5000, 'x');
  EXPECT_LT(parse_probe_verdict(text).status().message().size(), 400u);
  EXPECT_EQ(parse_probe_verdict(text).status().id(), "probe.protocol");
}

TEST(ProbeProtocol, RefusesWhatCannotBe) {
  const std::string good =
      R"({"end":"passed","stage":"active","number":0,"code":"","message":"","output":"","elapsed_ns":1})";
  ASSERT_TRUE(parse_probe_verdict(good).ok());
  const std::pair<const char*, const char*> changes[] = {{"\"passed\"", "\"fine\""},
                                                         {"\"passed\"", "\"crashed\""},
                                                         {"\"active\"", "\"open\""},
                                                         {"\"active\"", "\"found\""},
                                                         {"\"number\":0", "\"number\":1"},
                                                         {"\"number\":0", "\"number\":0.0"},
                                                         {"\"code\":\"\"", "\"code\":\"x\""},
                                                         {"\"elapsed_ns\":1", "\"elapsed_ns\":-1"},
                                                         {"\"elapsed_ns\":1", "\"elapsed_ns\":1,\"x\":1"},
                                                         {"\"output\":\"\"", "\"output\":null"},
                                                         {"\"output\":\"\",", ""},
                                                         {"\"output\"", "\"printed\""}};
  for (const auto& [from, to] : changes) {
    std::string text = good;
    text.replace(text.find(from), std::string_view(from).size(), to);
    EXPECT_EQ(parse_probe_verdict(text).status().id(), "probe.protocol") << text;
  }
  for (const char* text : {"", "[]", "{}", "null", "{\"library_path\":\"/x\"}"}) {
    EXPECT_EQ(parse_probe_verdict(text).status().id(), "probe.protocol") << text;
    EXPECT_EQ(parse_probe_request(text).status().id(), "probe.protocol") << text;
  }
}

TEST(ProbeFailure, NamesStageAndSignal) {
  const auto failure = [](ProbeVerdict verdict) { return probe_failure(verdict, milliseconds(250)); };
  const Status crashed = failure(ended(End::crashed, LoadStage::open, SIGSEGV));
  EXPECT_EQ(crashed.id(), "probe.crashed");
  EXPECT_NE(crashed.message().find("'open'"), std::string::npos) << crashed.message();
  EXPECT_NE(crashed.message().find("SIGSEGV"), std::string::npos) << crashed.message();
  const Status late = failure(ended(End::timed_out, LoadStage::active));
  EXPECT_EQ(late.id(), "probe.timeout");
  EXPECT_NE(late.message().find("250 ms"), std::string::npos) << late.message();
  EXPECT_NE(late.message().find("closed"), std::string::npos) << late.message();
  EXPECT_EQ(failure(ended(End::exited, LoadStage::dlopen, 3)).id(), "probe.exited");
}

}  // namespace
}  // namespace backplane
