#include "registry/manifest/manifest.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

constexpr const char* kFull = R"({
  "$schema": "plugin.schema.json", "file_format_version": "1.0", "x-top": 1,
  "plugin": {
    "id": "org.test.full", "display_name": "Full", "version": "1.2.3-rc.1",
    "library_path": {"linux-x86_64": "a.so", "linux-aarch64": "/abs/b.so"},
    "entry_point": "other_entry", "abi": {"min": "1.0", "max": "1.7", "x-y": 0},
    "requires": {"cpu": ["avx2", "fma"]},
    "variant": {"group": "org.test", "rank": -3},
    "dependencies": [{"soname": "libx.so.1", "hint": "apt install x"}],
    "options": {"threads": 4, "nested": {"deep": [1]}},
    "sha256": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "x-vendor": {"anything": null}
  }
})";

TEST(Manifest, ReadsEveryField) {
  const Result<Manifest> result = parse_manifest(kFull, "m.json");
  ASSERT_TRUE(result.ok()) << result.status().message();
  const Manifest& manifest = *result;
  EXPECT_EQ(manifest.id, "org.test.full");
  EXPECT_EQ(manifest.display_name, "Full");
  EXPECT_EQ(manifest.version, "1.2.3-rc.1");
  ASSERT_EQ(manifest.libraries.size(), 2u);
  EXPECT_EQ(manifest.entry_point, "other_entry");
  EXPECT_EQ(manifest.abi_min, BP_VERSION(1, 0));
  EXPECT_EQ(manifest.abi_max, BP_VERSION(1, 7));
  EXPECT_EQ(manifest.cpu, (std::vector<std::string>{"avx2", "fma"}));
  ASSERT_TRUE(manifest.variant.has_value());
  EXPECT_EQ(manifest.variant->group, "org.test");
  EXPECT_EQ(manifest.variant->rank, -3);
  ASSERT_EQ(manifest.dependencies.size(), 1u);
  EXPECT_EQ(manifest.dependencies[0].hint, "apt install x");
  EXPECT_EQ(manifest.options.dump(-1), R"({"threads": 4, "nested": {"deep": [1]}})");
  EXPECT_EQ(manifest.sha256.size(), 64u);
  EXPECT_TRUE(manifest.notes.empty());
}

TEST(Manifest, NeedsLittle) {
  const Result<Manifest> manifest = parse_manifest(manifest_text("a", "a.so"), "m.json");
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->entry_point, BP_ENTRY_POINT);
  EXPECT_FALSE(manifest->variant.has_value());
}

TEST(Manifest, M22M23LibraryPathDependsOnPlatformAndFolder) {
  const Manifest manifest = parse_manifest(kFull, "m.json").value();
  EXPECT_EQ(library_path(manifest, "/folder", "linux-x86_64").value(), "/folder/a.so");
  EXPECT_EQ(library_path(manifest, "/folder", "linux-aarch64").value(), "/abs/b.so");
  const Status status = library_path(manifest, "/folder", "linux-riscv64").status();
  EXPECT_EQ(status.id(), "manifest.platform");
  EXPECT_NE(status.message().find("linux-x86_64, linux-aarch64"), std::string::npos);
  const Manifest plain = parse_manifest(manifest_text("a", "../lib/a.so"), "m.json").value();
  EXPECT_EQ(library_path(plain, "/folder").value(), "/folder/../lib/a.so");
}

// A manifest whose "plugin" has further members.
std::string with(const std::string& more) { return manifest_text("a", "a.so", more); }

struct Bad {
  const char* name;
  std::string text;
  const char* id;
  uint32_t line;
};

class ManifestRejects : public ::testing::TestWithParam<Bad> {};

TEST_P(ManifestRejects, M24WithIdAndPlace) {
  JsonFault fault;
  const Result<Manifest> manifest = parse_manifest(GetParam().text, "m.json", &fault);
  ASSERT_FALSE(manifest.ok());
  const std::string& message = manifest.status().message();
  EXPECT_EQ(manifest.status().code(), Code::invalid_argument);
  EXPECT_EQ(manifest.status().id(), GetParam().id) << message;
  EXPECT_EQ(fault.line, GetParam().line) << message;
  EXPECT_GE(fault.column, 1u);
  EXPECT_EQ(message.rfind("m.json:" + std::to_string(fault.line) + ":" + std::to_string(fault.column) + ": ", 0), 0u)
      << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, ManifestRejects,
    ::testing::Values(
        Bad{"empty", "", "manifest.syntax", 1}, Bad{"trailing", with("") + "x", "manifest.syntax", 3},
        Bad{"comment", "// x\n" + with(""), "manifest.syntax", 1},
        Bad{"duplicate", with(",\n\"id\":\"b\""), "manifest.duplicate-key", 3},
        Bad{"utf8", with(",\"display_name\":\"\xFF\""), "manifest.utf8", 2},
        Bad{"deep", with(",\"x-d\":" + std::string(40, '[') + std::string(40, ']')), "manifest.too-deep", 2},
        Bad{"M04_large", std::string((1 << 20) + 1, ' '), "manifest.too-large", 1},
        Bad{"not_object", "[]", "manifest.type", 1},
        Bad{"no_format", R"({"plugin":{"id":"a","library_path":"a.so"}})", "manifest.missing-key", 1},
        Bad{"format_number", R"({"file_format_version":1.0})", "manifest.type", 1},
        Bad{"format_major", R"({"file_format_version":"2.0"})", "manifest.format-version", 1},
        Bad{"format_word", R"({"file_format_version":"banana"})", "manifest.format-version", 1},
        Bad{"format_spelling", R"({"file_format_version":"1.00"})", "manifest.format-version", 1},
        Bad{"no_plugin", R"({"file_format_version":"1.0"})", "manifest.missing-key", 1},
        Bad{"no_id", R"({"file_format_version":"1.0","plugin":{"library_path":"a"}})", "manifest.missing-key", 1},
        Bad{"no_library", R"({"file_format_version":"1.0","plugin":{"id":"a"}})", "manifest.missing-key", 1},
        Bad{"unknown_top", "{\"file_format_version\":\"1.0\",\n\"plugins\":{}}", "manifest.unknown-key", 2},
        Bad{"unknown", with(",\n\"sha265\":\"\""), "manifest.unknown-key", 3},
        Bad{"case", with(",\n\"Version\":\"1.0.0\""), "manifest.unknown-key", 3},
        Bad{"unknown_abi", with(",\"abi\":{\"min\":\"1.0\",\"max\":\"1.0\",\n\"mid\":1}"), "manifest.unknown-key", 3},
        Bad{"id_case", manifest_text("Org.Test", "a.so"), "manifest.value", 2},
        Bad{"id_long", manifest_text(std::string(65, 'a'), "a.so"), "manifest.value", 2},
        Bad{"id_dot", manifest_text("a.", "a.so"), "manifest.value", 2},
        Bad{"id_empty", manifest_text("", "a.so"), "manifest.value", 2},
        Bad{"path_empty", manifest_text("a", ""), "manifest.path", 2},
        Bad{"path_home", manifest_text("a", "~/a.so"), "manifest.path", 2},
        Bad{"path_variable", manifest_text("a", "$ORIGIN/a.so"), "manifest.path", 2},
        Bad{"path_nul", manifest_text("a", "a\\u0000.so"), "manifest.path", 2},
        Bad{"path_folder", manifest_text("a", "lib/"), "manifest.path", 2},
        Bad{"path_number", R"({"file_format_version":"1.0","plugin":{"id":"a","library_path":1}})", "manifest.type", 1},
        Bad{"path_no_platform", R"({"file_format_version":"1.0","plugin":{"id":"a","library_path":{}}})",
            "manifest.value", 1},
        Bad{"path_bad_platform", R"({"file_format_version":"1.0","plugin":{"id":"a","library_path":{"x86":"a"}}})",
            "manifest.value", 1},
        Bad{"version", with(",\"version\":\"1.0\""), "manifest.value", 2},
        Bad{"entry", with(",\"entry_point\":\"a-b\""), "manifest.value", 2},
        Bad{"abi_number", with(",\"abi\":{\"min\":1,\"max\":\"1.0\"}"), "manifest.type", 2},
        Bad{"abi_order", with(",\"abi\":{\"min\":\"1.1\",\"max\":\"1.0\"}"), "manifest.value", 2},
        Bad{"abi_half", with(",\"abi\":{\"min\":\"1.0\"}"), "manifest.missing-key", 2},
        Bad{"cpu_text", with(",\"requires\":{\"cpu\":\"avx\"}"), "manifest.type", 2},
        Bad{"cpu_number", with(",\"requires\":{\"cpu\":[1]}"), "manifest.type", 2},
        Bad{"rank_float", with(",\"variant\":{\"group\":\"g\",\"rank\":1.0}"), "manifest.type", 2},
        Bad{"variant_half", with(",\"variant\":{\"rank\":1}"), "manifest.missing-key", 2},
        Bad{"soname", with(",\"dependencies\":[{\"soname\":\"/lib/x.so\"}]"), "manifest.value", 2},
        Bad{"option_null", with(",\"options\":{\"a\":null}"), "manifest.type", 2},
        Bad{"option_dot", with(",\"options\":{\"a.b\":1}"), "manifest.value", 2},
        Bad{"sha", with(",\"sha256\":\"ABC\""), "manifest.value", 2}),
    [](const auto& bad) { return bad.param.name; });

TEST(Manifest, M09SlipsGetASuggestion) {
  const std::string message = parse_manifest(with(",\"sha265\":\"\""), "m.json").status().message();
  EXPECT_NE(message.find("plugin.sha265"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean 'sha256'"), std::string::npos) << message;
}

TEST(Manifest, M21ConfigurationIsNamedAsSuch) {
  JsonFault fault;
  const Status status =
      parse_manifest("{\"file_format_version\": \"1.0\",\n\"plugins\": {}}", "m.json", &fault).status();
  EXPECT_EQ(status.id(), "manifest.unknown-key");
  EXPECT_NE(status.message().find("a configuration file, not a manifest; it belongs in a conf.d"), std::string::npos);
  EXPECT_EQ(fault.line, 2u);
  // Even if a newer minor version might know the key.
  EXPECT_EQ(parse_manifest(R"({"file_format_version": "1.9", "trust": "strict"})", "m.json").status().id(),
            "manifest.unknown-key");
}

TEST(Manifest, M21OthersManifestsAreNamedAsSuch) {
  const Status status =
      parse_manifest(R"({"file_format_version": "1.0.1", "ICD": {"library_path": "libvulkan_x.so"}})", "x.json")
          .status();
  EXPECT_EQ(status.id(), "manifest.unknown-key");
  EXPECT_NE(status.message().find("Vulkan"), std::string::npos) << status.message();
}

// Whatever damage is done to a manifest, it is refused in order or still says something.
TEST(Manifest, SurvivesEveryWrongByte) {
  const std::string text = kFull;
  size_t refused = 0;
  for (size_t at = 0; at < text.size(); ++at)
    for (const char wrong : {'\0', '"', '{', ']', ',', '9', '\\', '\x80', '\xff'}) {
      std::string damaged = text;
      damaged[at] = wrong;
      const Result<Manifest> manifest = parse_manifest(damaged, "m.json");
      if (manifest) continue;
      EXPECT_TRUE(manifest.status().id().starts_with("manifest.")) << manifest.status().to_string();
      ++refused;
    }
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_EQ(parse_manifest(text.substr(0, length), "m.json").status().id(), "manifest.syntax") << length;
  EXPECT_GT(refused, text.size());
}

TEST(Manifest, MessagesNameTheKeyThatIsWrong) {
  const auto message_of = [](const std::string& more) {
    return parse_manifest(with(more), "m.json").status().message();
  };
  EXPECT_NE(
      message_of(",\"requires\":{\"cpu\":[\"avx2\",7]}").find("plugin.requires.cpu[1] must be a string, not integer"),
      std::string::npos);
  EXPECT_NE(message_of(",\"options\":{\"a\":{\"b\":null}}").find("plugin.options.a.b needs a default"),
            std::string::npos);
  EXPECT_NE(message_of(",\"dependencies\":[{}]").find("'plugin.dependencies[0].soname' is missing"), std::string::npos);
}

TEST(Manifest, M10NewerMinorVersionsMayHaveNewKeysButNoWrongOnes) {
  std::string text = with(",\"new_key\":1");
  text.replace(text.find("1.0"), 3, "1.9");
  const Result<Manifest> manifest = parse_manifest(text, "m.json");
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->notes, (std::vector<std::string>{"plugin.new_key"}));
  text = with(",\"version\":7");
  text.replace(text.find("1.0"), 3, "1.9");
  EXPECT_EQ(parse_manifest(text, "m.json").status().id(), "manifest.type");
}

// The published schema and the parser must know the same keys.
class ManifestSchema : public ::testing::Test {
 protected:
  ManifestSchema() {
    std::ifstream file(BACKPLANE_MANIFEST_SCHEMA);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    schema_ = parse_json(text, "schema").value();
  }
  const Json& plugin() const { return *schema_.find("properties")->find("plugin"); }
  Json schema_;
};

TEST_F(ManifestSchema, ParserKnowsEveryKeyAndValueType) {
  for (const auto& [key, rule] : plugin().find("properties")->members()) {
    if (key == "id" || key == "library_path") continue;
    // null fits no key: the parser must complain of the type, not of the key.
    EXPECT_EQ(parse_manifest(with(",\"" + key + "\":null"), "m.json").status().id(), "manifest.type") << key;
  }
  EXPECT_EQ(plugin().find("properties")->members().size(), 11u);
  EXPECT_EQ(plugin().find("required")->dump(-1), R"(["id", "library_path"])");
  EXPECT_FALSE(plugin().find("additionalProperties")->as_boolean());
}

TEST_F(ManifestSchema, ItsExampleParses) {
  const std::string example = schema_.find("examples")->items().at(0).dump();
  const Result<Manifest> manifest = parse_manifest(example, "example");
  EXPECT_TRUE(manifest.ok()) << manifest.status().message();
}

std::string embedded_text(const std::string& more = "") {
  return R"({"file_format_version": "1.0", "plugin": {"id": "org.test.embedded")" + more + "}}";
}

TEST(EmbeddedManifest, NamesTheLibraryThatHoldsIt) {
  const Result<Manifest> manifest = parse_embedded_manifest(embedded_text(), "/plugins/p.so");
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->id, "org.test.embedded");
  ASSERT_EQ(manifest->libraries.size(), 1u);
  EXPECT_EQ(manifest->libraries[0].platform, "");
  EXPECT_EQ(library_path(*manifest, "/elsewhere", "linux-any").value(), "/plugins/p.so");
}

TEST(EmbeddedManifest, GivesNeitherPathNorHash) {
  JsonFault fault;
  const Status path =
      parse_embedded_manifest(embedded_text(R"(, "library_path": "p.so")"), "/plugins/p.so", &fault).status();
  EXPECT_EQ(path.id(), "manifest.unknown-key");
  EXPECT_NE(path.message().find("/plugins/p.so (embedded manifest):1:"), std::string::npos) << path.message();
  EXPECT_NE(path.message().find("'plugin.library_path' has no place in an embedded manifest"), std::string::npos);
  EXPECT_EQ(fault.line, 1u);
  const std::string hash(64, 'a');
  EXPECT_EQ(parse_embedded_manifest(embedded_text(", \"sha256\": \"" + hash + "\""), "/p.so").status().id(),
            "manifest.unknown-key");
}

TEST(EmbeddedManifest, IsAsStrictAsAFile) {
  EXPECT_EQ(parse_embedded_manifest("{", "/p.so").status().id(), "manifest.syntax");
  EXPECT_EQ(parse_embedded_manifest(embedded_text(R"(, "verison": "1.0.0")"), "/p.so").status().id(),
            "manifest.unknown-key");
  EXPECT_EQ(parse_embedded_manifest(embedded_text() + '\0', "/p.so").status().id(), "manifest.syntax");
}

}  // namespace
}  // namespace backplane
