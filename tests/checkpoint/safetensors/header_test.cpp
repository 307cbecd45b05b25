#include "checkpoint/safetensors/header.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;

SafetensorsHeader header_of(const std::string& text, std::int64_t data_bytes) {
  return parse_safetensors_header(text, data_bytes);
}

std::string header_problem(const std::string& text, std::int64_t data_bytes = 8) {
  return simmesh::testing::error_text([&] { header_of(text, data_bytes); });
}

// Returns the error for an entry of eight bytes with one field changed.
std::string with_entry(const std::string& fields) { return R"({"w":{)" + fields + "}}"; }
const std::string dtype_field = R"("dtype":"F32",)", shape_field = R"("shape":[2],)",
                  offsets_field = R"("data_offsets":[0,8])";

TEST(SafetensorsHeader, ReadsTensorsInTheOrderOfTheirData) {
  SafetensorsHeader header =
      header_of(R"({"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},"__metadata__":{"k":"v"},)"
                R"("a":{"data_offsets":[0,8],"shape":[1,2],"dtype":"F32"},)"
                R"("none":{"dtype":"F4","shape":[0],"data_offsets":[8,8]}})",
                11);
  ASSERT_EQ(header.tensors.size(), 3u);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[0].shape, (Shape{1, 2}));
  EXPECT_EQ(header.tensors[1].name, "none");
  EXPECT_EQ(header.tensors[2].bytes(), 3);
  EXPECT_EQ(header.metadata->at("k"), "v");
  EXPECT_TRUE(header_of("{}", 0).tensors.empty());
  EXPECT_EQ(header_of(R"({"__metadata__":null})", 0).metadata, std::nullopt);
}

TEST(SafetensorsHeader, PassesOverFieldsThatNobodyKnows) {
  std::string known = dtype_field + shape_field + offsets_field;
  for (const char* value : {"1", "-1", "null", "true", "\"t\"", "2.5", "[[],[{}]]", R"({"a":[1]})"})
    EXPECT_EQ(header_problem(with_entry("\"x\":" + std::string(value) + "," + known)), "") << value;
  std::string deep(100'000, '['), close(100'000, ']');
  EXPECT_EQ(header_problem(with_entry("\"x\":" + deep + close + "," + known)), "");
}

TEST(SafetensorsHeader, RefusesTextThatIsNoObject) {
  for (const char* text : {"", " {}", "[]", "1", "\"a\""})
    EXPECT_THAT(header_problem(text), HasSubstr("doesn't begin with '{'")) << text;
  for (const char* text : {"{", "{}}", "{\"a\"}", "{} x", "{\"\xff\":1}"})
    EXPECT_THAT(header_problem(text), HasSubstr("the header isn't JSON in UTF-8: byte")) << text;
  EXPECT_THAT(header_problem(std::string("{}\0", 3)), HasSubstr("byte 3 is zero"));
}

TEST(SafetensorsHeader, RefusesMetadataThatAreNoTexts) {
  for (const char* value : {"1", "true", "[]", "\"a\"", "2.5"})
    EXPECT_THAT(header_problem(R"({"__metadata__":)" + std::string(value) + "}"),
                HasSubstr("expected an object of texts"))
        << value;
  for (const char* value : {"1", "null", "[]", "{}"})
    EXPECT_THAT(header_problem(R"({"__metadata__":{"k":)" + std::string(value) + "}}"),
                HasSubstr("__metadata__: the value of 'k' is"))
        << value;
  EXPECT_THAT(header_problem(R"({"__metadata__":{"k":"a","k":"b"}})"),
              HasSubstr("__metadata__: 'k' comes twice"));
  EXPECT_THAT(header_problem(R"({"__metadata__":{},"__metadata__":{}})"),
              HasSubstr("__metadata__ comes twice"));
}

TEST(SafetensorsHeader, RefusesEntriesThatAreIncomplete) {
  EXPECT_THAT(header_problem(R"({"w":[]})"), HasSubstr("tensor 'w' is a list, expected an object"));
  EXPECT_THAT(header_problem(with_entry(shape_field + offsets_field)), HasSubstr("no field dtype"));
  EXPECT_THAT(header_problem(with_entry(dtype_field + offsets_field)), HasSubstr("no field shape"));
  EXPECT_THAT(header_problem(with_entry(dtype_field + R"("shape":[2])")),
              HasSubstr("no field data_offsets"));
  const std::string whole = dtype_field + shape_field + offsets_field;
  for (const std::string& field : {dtype_field, shape_field, offsets_field + ","})
    EXPECT_THAT(header_problem(with_entry(field + whole)), HasSubstr("comes twice")) << field;
  std::string entry = "{" + dtype_field + shape_field + offsets_field + "}";
  EXPECT_THAT(header_problem("{\"w\":" + entry + ",\"w\":" + entry + "}"),
              HasSubstr("the tensor 'w' comes twice"));
}

TEST(SafetensorsHeader, RefusesFieldsOfOtherTypes) {
  auto with_dtype = [](const std::string& value) {
    return header_problem(with_entry("\"dtype\":" + value + "," + shape_field + offsets_field));
  };
  auto with_shape = [](const std::string& value) {
    return header_problem(with_entry(dtype_field + "\"shape\":" + value + "," + offsets_field));
  };
  auto with_offsets = [](const std::string& value) {
    return header_problem(with_entry(dtype_field + shape_field + "\"data_offsets\":" + value));
  };
  for (const char* value : {"1", "null", "[]", "{}", "true"})
    EXPECT_THAT(with_dtype(value), HasSubstr("expected a text")) << value;
  EXPECT_THAT(with_dtype("\"F31\""), HasSubstr("tensor 'w': unknown dtype 'F31'"));
  for (const char* value : {"1", "null", "{}", "[-1]", "[2.0]", "[\"2\"]", "[[2]]", "[null]",
                            "[9223372036854775808]", "[1e3]"})
    EXPECT_THAT(with_shape(value), HasSubstr("expected a list of sizes")) << value;
  for (const char* value : {"1", "null", "{}", "[]", "[0]", "[0,8,8]", "[-1,8]", "[0,8.0]",
                            "[0,[8]]", "[0,18446744073709551615]"})
    EXPECT_THAT(with_offsets(value), HasSubstr("expected two integers")) << value;
}

TEST(SafetensorsHeader, RefusesDataThatDontLieSideBySide) {
  auto problem_at = [](const std::string& dtype, const std::string& shape,
                       const std::string& offsets, std::int64_t data_bytes) {
    return header_problem(with_entry("\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
                                     ",\"data_offsets\":" + offsets),
                          data_bytes);
  };
  EXPECT_EQ(problem_at("F32", "[2]", "[0,8]", 8), "");
  EXPECT_THAT(problem_at("F32", "[2]", "[8,0]", 8), HasSubstr("end at 0, before they begin at 8"));
  EXPECT_THAT(problem_at("F32", "[2]", "[0,8]", 7), HasSubstr("but the file has 7 bytes of data"));
  EXPECT_THAT(problem_at("F32", "[2]", "[0,8]", 9), HasSubstr("the tensors end at 8"));
  EXPECT_THAT(problem_at("F32", "[2]", "[1,9]", 9), HasSubstr("there is a hole before them"));
  EXPECT_THAT(problem_at("F32", "[3]", "[0,8]", 8),
              HasSubstr("8 bytes of data, expected 12 for F32[3]"));
  EXPECT_THAT(problem_at("F32", "[4294967296,4294967296]", "[0,8]", 8),
              HasSubstr("multiply to more than 63 bits"));
  EXPECT_THAT(problem_at("F32", "[4611686018427387904]", "[0,8]", 8),
              HasSubstr("have more than 2^60 bytes"));
  EXPECT_THAT(problem_at("F4", "[3]", "[0,2]", 2), HasSubstr("end within a byte"));
  std::string overlap = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                        R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})";
  EXPECT_THAT(header_problem(overlap, 3),
              HasSubstr("tensor 'b': its data begin at 1, expected 2: there is an overlap"));
}

TEST(SafetensorsHeader, WritesWhatIsRead) {
  SafetensorsHeader header;
  header.metadata = {{"z", "\"quoted\"\n"}, {"a", "\u00e9"}};
  header.tensors = {{"w \"x\"", StoredDType::bf16, {2, 0}, 0, 0}, {"s", StoredDType::u8, {}, 0, 1}};
  std::string text = safetensors_header_text(header);
  EXPECT_EQ(text.size() % 8, 0u);
  SafetensorsHeader read = header_of(text, 1);
  EXPECT_EQ(read.metadata, header.metadata);
  ASSERT_EQ(read.tensors.size(), 2u);
  EXPECT_EQ(read.tensors[0].name, header.tensors[0].name);
  EXPECT_EQ(read.tensors[1].shape, Shape{});
  EXPECT_EQ(safetensors_header_text({}), "{}      ");
  header.tensors[0].name = "\xff";
  EXPECT_THAT(simmesh::testing::error_text([&] { safetensors_header_text(header); }),
              HasSubstr("a name or text isn't UTF-8"));
}

}  // namespace
}  // namespace simmesh::checkpoint
