#include "report_text.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace backplane::cli {
namespace {

LoadReport failed_report() {
  LoadReport report;
  report.source = "api";
  report.requested = "/x/plugins.d/a.json";
  report.plugin_id = "org.test.a";
  report.stage = LoadStage::parsed;
  report.code = "manifest.type";
  report.message = "/x/plugins.d/a.json:2:3: wanted a text";
  report.hint = "correct '/x/plugins.d/a.json'";
  report.file = report.requested;
  report.line = 2;
  report.column = 3;
  report.elapsed_ns = 1234567;
  return report;
}

LoadReport active_report() {
  LoadReport report;
  report.requested = "/x/b.json";
  report.library_path = report.real_path = report.loaded_path = "/x/b.so";
  report.plugin_id = "org.test.b";
  report.version = "1.2";
  report.stage = LoadStage::active;
  report.outcome = LoadOutcome::active;
  report.code = "ok";
  report.message = "version 1.2";
  report.device_count = 2;
  report.elapsed_ns = 12345678;
  return report;
}

TEST(Explanation, GoesWithoutTheCandidatesFolder) {
  EXPECT_EQ(explanation(failed_report()), "a.json:2:3: wanted a text; correct 'a.json'");
}

TEST(Explanation, SaysWhereUnlessTheMessageDoes) {
  LoadReport report = failed_report();
  report.message = "wanted a text";
  EXPECT_EQ(explanation(report), "wanted a text (a.json:2:3); correct 'a.json'");
}

TEST(Explanation, OfAnActivePluginIsWhatItBrings) {
  LoadReport report = active_report();
  EXPECT_EQ(explanation(report), "version 1.2, 2 devices");
  report.version.clear();
  EXPECT_EQ(explanation(report), "2 devices");
}

TEST(Story, SaysEachThingOnce) {
  EXPECT_EQ(story(failed_report()),
            "/x/plugins.d/a.json\n"
            "  plugin    org.test.a\n"
            "  outcome   failed at parsed [manifest.type] after 1234 us\n"
            "  because   /x/plugins.d/a.json:2:3: wanted a text\n"
            "  do        correct '/x/plugins.d/a.json'\n"
            "  found by  api\n");
  EXPECT_EQ(story(active_report()),
            "/x/b.json\n"
            "  plugin    org.test.b 1.2\n"
            "  outcome   active [ok] after 12 ms\n"
            "  devices   2\n"
            "  library   /x/b.so\n");
}

TEST(Story, ShowsWhatTheSystemAndThePluginSaid) {
  LoadReport report = failed_report();
  report.message = "it\ncrashed\x1b[1m";
  report.system_error = ENOENT;
  report.signal = SIGSEGV;
  report.notes = {"first", "second"};
  report.real_path = "/y/a.so";
  report.output = std::string(5000, 'x');
  const std::string text = story(report);
  for (const char* part :
       {"  because   it\\x0acrashed\\x1b[1m\n", "  where     /x/plugins.d/a.json:2:3\n", "  system    errno 2, No such",
        "  signal    11, Seg", "  note      first\n  note      second\n", "  real path /y/a.so\n", "  printed   xxx"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "in\n" << text;
  EXPECT_LT(text.size(), 3000u);
}

TEST(AllWell, WantsSomethingOfUseAndNothingBroken) {
  LoadReport skipped = active_report();
  skipped.outcome = LoadOutcome::skipped;
  EXPECT_TRUE(all_well({active_report(), skipped}));
  EXPECT_FALSE(all_well({active_report(), failed_report()}));
  EXPECT_FALSE(all_well({skipped}));
  EXPECT_FALSE(all_well({}));
  skipped.outcome = LoadOutcome::eligible;
  EXPECT_TRUE(all_well({skipped}));
}

TEST(NoticeText, IsOneLineWithItsPlaceAndCode) {
  Notice notice = {Severity::warning, "config.unknown", "what\nis this", "drop it", "/etc/a.json", 3, 4};
  EXPECT_EQ(to_text(notice), "warning: what\\x0ais this (/etc/a.json:3:4); drop it [config.unknown]");
  notice.message = "/etc/a.json:3:4: what";
  EXPECT_EQ(sentence(notice), "/etc/a.json:3:4: what; drop it [config.unknown]");
}

TEST(ReportJson, HasEveryFact) {
  const Json json = to_json(failed_report());
  EXPECT_EQ(json.find("code")->as_text(), "manifest.type");
  EXPECT_EQ(json.find("stage")->as_text(), "parsed");
  EXPECT_EQ(json.find("outcome")->as_text(), "failed");
  EXPECT_EQ(to_json({failed_report(), active_report()}).items().size(), 2u);
}

TEST(OriginText, IsAPlaceOrAVariable) {
  EXPECT_EQ(origin_text({"trust", Json(), "/a.json", 3, 4}), "/a.json:3:4");
  EXPECT_EQ(origin_text({"probe", Json(), "env:BACKPLANE_PROBE", 0, 0}), "env:BACKPLANE_PROBE");
}

}  // namespace
}  // namespace backplane::cli
