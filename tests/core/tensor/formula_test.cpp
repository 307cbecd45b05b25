#include "core/tensor/formula.h"

#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/check/error.h"

namespace simmesh {
namespace {

using Json = nlohmann::json;

// The bits of an element, most significant digit first, as the recorded cases write them.
std::string element_text(const Tensor& tensor, std::size_t index) {
  std::size_t bytes = bytes_per_element(tensor.dtype());
  std::string text;
  for (std::size_t i = bytes; i-- > 0;)
    text += fmt::format("{:02x}", std::uint8_t(tensor.data()[index * bytes + i]));
  return text;
}

std::string fnv_text(const Tensor& tensor) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (std::size_t i = 0; i < tensor.bytes(); ++i)
    hash = (hash ^ std::uint8_t(tensor.data()[i])) * 0x100000001B3u;
  return fmt::format("{:016x}", hash);
}

Formula formula_of(const Json& tensor) {
  return {.rule = rule_from_string(tensor.at("rule").get<std::string>()),
          .seed = tensor.at("seed").get<std::uint64_t>(),
          .scale = tensor.value("scale", 1.0),
          .below = tensor.value("below", std::uint64_t(1)),
          .dtype = dtype_from_string(tensor.at("dtype").get<std::string>())};
}

// If this fails, every recorded case is compared on other data than it was recorded with.
TEST(Formula, EqualsTheRecordedCases) {
  std::ifstream file(SIMMESH_SOURCE_DIR "/tests/cases/pytorch/formula.jsonl");
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    Json recorded = Json::parse(line);
    std::string id = recorded.at("id");
    auto shape = recorded.at("tensor").at("shape").get<std::vector<std::int64_t>>();
    Formula data = formula_of(recorded.at("tensor"));
    Tensor tensor = formula(DimSpan(shape), data);
    std::size_t i = 0;
    for (const Json& word : recorded.at("h"))
      EXPECT_EQ(fmt::format("{:016x}", formula_word(data.seed, i++)), word) << id;
    i = 0;
    for (const Json& bits : recorded.at("bits")) EXPECT_EQ(element_text(tensor, i++), bits) << id;
    EXPECT_EQ(fnv_text(tensor), recorded.at("hash")) << id;
  }
  EXPECT_EQ(cases, 41);
}

// If this fails, an element depends on more than seed and row-major index.
TEST(Formula, ShapeDoesNotMatter) {
  Formula data{.rule = Rule::wide, .seed = 5, .dtype = DType::float32};
  EXPECT_TRUE(same_bits(formula({6, 4}, data).view(Dims{24}), formula({24}, data)));
  EXPECT_TRUE(same_bits(formula({24}, data).narrow({.dim = 0, .start = 0, .length = 7}),
                        formula({7}, data)));
}

// If this fails, a case with an impossible rule yields data of some kind instead of an error.
TEST(Formula, ImpossibleRulesAreRefused) {
  Formula no_index{.rule = Rule::index, .below = 0, .dtype = DType::int64};
  EXPECT_THROW(formula({2}, no_index), Error);
  for (DType dtype : {DType::int64, DType::int32, DType::uint8, DType::boolean}) {
    Formula unit{.rule = Rule::unit, .dtype = dtype};
    EXPECT_THROW(formula({2}, unit), Error);
  }
  EXPECT_THROW(rule_from_string("boolean"), Error);
}

// If this fails, a rule is read back as another one.
TEST(Formula, RuleNamesAreReadBack) {
  for (Rule rule :
       {Rule::wide, Rule::small, Rule::unit, Rule::positive, Rule::index, Rule::boolean})
    EXPECT_EQ(rule_from_string(to_string(rule)), rule);
  EXPECT_EQ(to_string(Rule::boolean), "bool");
}

}  // namespace
}  // namespace simmesh
