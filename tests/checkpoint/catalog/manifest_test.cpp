#include "checkpoint/catalog/manifest.h"

#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "checkpoint/native/commit.h"
#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Manifest sample_manifest() {
  Manifest manifest;
  manifest.world = 2;
  manifest.files = {{"rank_00000.safetensors", 100, 60, 7}, {"rank_00001.safetensors", 90, 50, 8}};
  StoredTensor tensor = {"w", StoredDType::f32, {3, 2}, {}};
  tensor.chunks = {{{{0, 0}, {2, 2}}, "rank_00000.safetensors", 60, 16},
                   {{{2, 0}, {1, 2}}, "rank_00001.safetensors", 50, 8}};
  tensor.chunks[0].hash = 0x0123456789abcdef;
  tensor.chunks[1].hash = 1;
  manifest.catalog = {"", {tensor}, {{"step", JsonValue(std::int64_t{7}), {}}}};
  return manifest;
}

TEST(Manifest, ReadsWhatItWrites) {
  std::string text = manifest_text(sample_manifest());
  Manifest read = parse_manifest(text);
  EXPECT_EQ(manifest_text(read), text);
  EXPECT_EQ(read.world, 2);
  EXPECT_EQ(read.files[1].header_hash, 8u);
  EXPECT_EQ(read.catalog.tensors[0].chunks[0].hash, 0x0123456789abcdefu);
  EXPECT_EQ(read.catalog.tensors[0].chunks[1].box, (Box{{2, 0}, {1, 2}}));
  EXPECT_EQ(catalog_text(parse_catalog(catalog_text(read.catalog))), catalog_text(read.catalog));
}

// The text is JSON as the library writes it, with any characters in names.
TEST(Manifest, WritesJson) {
  Manifest manifest = sample_manifest();
  StoredTensor quoted = {"a \"quoted\\\n name, \xC3\xA9", StoredDType::bf16, {}, {}};
  quoted.chunks = {{{{}, {}}, "f\"", 0, 700}};
  manifest.catalog.tensors.push_back(quoted);
  manifest.catalog.tensors.push_back({"none", StoredDType::u8, {0, 2}, {}});
  for (const std::string& text : {manifest_text(manifest), catalog_text(manifest.catalog) + "\n"})
    EXPECT_EQ(Json::parse(text).dump() + "\n", text);
  Catalog read = parse_catalog(catalog_text(manifest.catalog));
  EXPECT_EQ(read.tensors[1].name, quoted.name);
  EXPECT_EQ(read.tensors[1].chunks[0].file, "f\"");
  manifest.catalog.tensors[1].name = "\xFF";
  EXPECT_THAT(error_text([&] { manifest_text(manifest); }), HasSubstr("isn't UTF-8"));
}

// Values keep their types: 1 isn't 1.0, and JSON has no NaN.
TEST(Manifest, KeepsEveryValue) {
  for (const char* text :
       {"null", "true", "0", "-9223372036854775808", "9223372036854775807", "1.0", "-0.0", "0.1",
        "1e+300", "5e-324", "\"\"", "\"\\u0000\"", "[]", "{}", R"({"b":[1,{"a":null}],"a":2})"})
    EXPECT_EQ(value_text(parse_value(text)), value_text(JsonValue::parse(text))) << text;
  for (double number : {0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, double(INFINITY), -double(INFINITY)}) {
    JsonValue read = parse_value(value_text(JsonValue(number)));
    ASSERT_NE(read.get<double>(), nullptr) << number;
    EXPECT_EQ(std::signbit(*read.get<double>()), std::signbit(number));
    EXPECT_EQ(*read.get<double>(), number);
  }
  EXPECT_TRUE(std::isnan(*parse_value(value_text(JsonValue(double(NAN)))).get<double>()));
}

TEST(Manifest, RefusesValuesThatWouldNotComeBack) {
  auto problem = [](const JsonValue& value) { return error_text([&] { value_text(value); }); };
  EXPECT_THAT(problem(JsonValue("\xff")), HasSubstr("isn't UTF-8"));
  EXPECT_THAT(problem({JsonValue::Object{{"$number", JsonValue("nan")}}}),
              HasSubstr("an object whose only key is '$number' can't be saved"));
  JsonValue deep;
  for (int level = 0; level < 128; ++level) deep = {JsonValue::List{deep}};
  EXPECT_EQ(problem(deep), "");
  EXPECT_THAT(problem({JsonValue::List{deep}}), HasSubstr("expected at most 128 levels"));
}

// Returns the error for the sample's JSON with one value changed.
std::string changed_problem(const char* at, const Json& value) {
  Json json = Json::parse(manifest_text(sample_manifest()));
  json[Json::json_pointer(at)] = value;
  return error_text([&] { parse_manifest(json.dump()); });
}

TEST(Manifest, RefusesWhatItDoesNotWrite) {
  constexpr const char* chunk = "/tensors/0/chunks/0";
  auto at = [&](const char* field) { return std::string(chunk) + field; };
  EXPECT_THAT(
      changed_problem("/format", "simmesh checkpoint 2"),
      HasSubstr("expected the format 'simmesh checkpoint 1', got \"simmesh checkpoint 2\""));
  EXPECT_THAT(changed_problem("/world", "2"), HasSubstr("expected an integer of 64 bits"));
  EXPECT_THAT(changed_problem("/files", 1), HasSubstr("key 'files': expected a list, got 1"));
  EXPECT_THAT(changed_problem("/files/0", 1),
              HasSubstr("expected an object with the key 'name', got 1"));
  EXPECT_THAT(changed_problem("/files/0/header_hash", "123"),
              HasSubstr("expected a hash of 16 digits, got '123'"));
  EXPECT_THAT(changed_problem("/files/0/header_bytes", 101),
              HasSubstr("'rank_00000.safetensors' has 100 bytes, 101 of them in its header"));
  EXPECT_THAT(changed_problem("/files/0/header_bytes", -1), HasSubstr("-1 of them in its header"));
  EXPECT_THAT(changed_problem("/files/0/bytes", 1e300), HasSubstr("an integer of 64 bits"));
  EXPECT_THAT(changed_problem("/tensors/0/name", 1),
              HasSubstr("key 'name': expected a text, got 1"));
  EXPECT_THAT(changed_problem("/tensors/0", Json::object()),
              HasSubstr("expected the key 'name', got {} without it"));
  EXPECT_THAT(changed_problem("/tensors/0/dtype", "F31"), HasSubstr("'w' has the dtype \"F31\""));
  EXPECT_THAT(changed_problem("/tensors/0/shape/0", -3), HasSubstr("expected a list of sizes"));
  EXPECT_THAT(changed_problem("/tensors/0/shape", std::vector<int>(33, 1)),
              HasSubstr("a list of at most 32 sizes"));
  EXPECT_THAT(changed_problem("/tensors/0/shape", 3),
              HasSubstr("key 'shape': expected a list, got 3"));
  EXPECT_THAT(changed_problem("/tensors/0/shape/0", 4), HasSubstr("a shard is missing"));
  EXPECT_THAT(changed_problem(at("/offsets/0").c_str(), 1), HasSubstr("overlap"));
  EXPECT_THAT(changed_problem(at("/hash").c_str(), "0123456789ABCDEF"), HasSubstr("16 digits"));
  EXPECT_THAT(changed_problem("/objects/0/name", "w"), HasSubstr("the name 'w' comes twice"));
  EXPECT_THAT(changed_problem("/objects/0/value", {{"$number", "two"}}),
              HasSubstr("expected nan, inf or -inf, got 'two'"));
  EXPECT_THAT(changed_problem("/objects/0/value", 18446744073709551615u),
              HasSubstr("an integer of 64 bits"));
}

// If this fails, users read the words of a library in place of the place and the fault.
TEST(Manifest, NamesThePlaceOfASyntaxError) {
  std::string text = manifest_text(sample_manifest());
  text.insert(text.size() / 2, "\x01");
  std::string error = error_text([&] { parse_manifest(text); });
  EXPECT_THAT(error, HasSubstr("not a manifest: a syntax error at line "));
  EXPECT_EQ(error.find("exception"), error.npos) << error;
}

TEST(Manifest, RefusesChunksOutsideOfTheirFiles) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::pair<const char*, Json>> changes = {
      {"begin", 85}, {"begin", -1}, {"begin", huge}, {"bytes", 15}, {"bytes", huge}, {"file", "x"}};
  for (const auto& [field, value] : changes)
    EXPECT_THAT(changed_problem((std::string("/tensors/0/chunks/0/") + field).c_str(), value),
                HasSubstr("the chunk [0, 0]+[2, 2] of 'w' isn't within its file"))
        << field << value;
}

// Without a bound, deeply nested values would overflow the stack.
TEST(Manifest, RefusesDepth) {
  std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  std::string text = manifest_text(sample_manifest());
  text.replace(text.find(":7}"), 2, ":" + deep);
  EXPECT_THAT(error_text([&] { parse_manifest(text); }), HasSubstr("expected at most 128 levels"));
  std::string quoted = manifest_text(sample_manifest());
  quoted.replace(quoted.find(":7}"), 2, R"(:"\")" + std::string(200, '[') + "\"");
  EXPECT_EQ(error_text([&] { parse_manifest(quoted); }), "") << "brackets in a text nest nothing";
}

// Any other text is refused, even one with the same values.
TEST(Manifest, ACommitRecordIsTakenAsItWasWritten) {
  std::string text = commit_text({3, 1234, 0xabc});
  CommitRecord read = parse_commit(text);
  EXPECT_EQ(read.number, 3);
  EXPECT_EQ(read.manifest_bytes, 1234);
  EXPECT_EQ(read.manifest_hash, 0xabcu);
  auto refused = [](const std::string& changed) {
    EXPECT_NE(error_text([&] { parse_commit(changed); }), "") << changed;
  };
  for (std::size_t i = 0; i < text.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[i] = char(flipped[i] ^ (1 << bit));
      refused(flipped);
    }
  for (std::size_t size = 0; size < text.size(); ++size) refused(text.substr(0, size));
  refused(text + " ");
  refused("{}");
  refused("[]");
  refused("{\"number\": 1e300, \"manifest_bytes\": 1, \"manifest_hash\": \"0000000000000000\"}");
}

TEST(Manifest, NamesTheFileThatIsBroken) {
  MemoryStore store;
  auto shared = std::make_shared<MemoryStore>(store);
  Commit({shared, "a"}).finish(sample_manifest(), {});
  EXPECT_EQ(read_manifest(store, "a").world, 2);
  EXPECT_EQ(read_commit(store, "nowhere"), std::nullopt);
  auto problem = [&] { return error_text([&] { read_manifest(store, "a"); }); };
  store.flip("a/manifest.json", 5, 1);
  EXPECT_THAT(problem(), HasSubstr("memory/a/manifest.json: corrupt"));
  store.remove("a/manifest.json");
  EXPECT_THAT(problem(), HasSubstr("no file a/manifest.json"));
  store.flip("a/commit.json", 5, 1);
  EXPECT_THAT(problem(), HasSubstr("memory/a/commit.json: the commit record is not what was"));
  store.remove("a/commit.json");
  EXPECT_THAT(problem(), HasSubstr("memory/a: no commit.json: the checkpoint was never finished"));
  testing::add_file(store, "a/commit.json", std::string(5000, ' '));
  EXPECT_THAT(problem(), HasSubstr("has 5000 bytes, expected at most 4096"));
}

}  // namespace
}  // namespace simmesh::checkpoint
