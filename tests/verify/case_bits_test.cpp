#include "verify/case_bits.h"

#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RecordedCase bits_case(const std::string& list) {
  return RecordedCase::parse(R"({"kind":"k","id":"i","bits":)" + list + "}", {.file = "f"});
}

// The hash is FNV-1a of 64 bits; these are its published values.
TEST(CaseBits, HashesTheBytesInRowMajorOrder) {
  EXPECT_EQ(bits_text(empty({0}, DType::float32)), "cbf29ce484222325");
  EXPECT_EQ(bits_text(tensor_of<std::uint8_t>({1}, {'a'})), "af63dc4c8601ec8c");
  EXPECT_EQ(bits_text(tensor_of<std::uint8_t>({6}, {'f', 'o', 'o', 'b', 'a', 'r'})),
            "85944171f73967e8");
  Tensor square = tensor_of<std::uint8_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(bits_text(square.transpose(0, 1)),
            bits_text(tensor_of<std::uint8_t>({4}, {1, 3, 2, 4})));
}

// A strided tensor's elements would be compared in the order of its storage.
TEST(CaseBits, KnownElementsAreRowMajor) {
  Tensor square = tensor_of<std::int32_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_TRUE(known_rows(square.transpose(0, 1)).is_contiguous());
  EXPECT_EQ(known_doubles(square.transpose(0, 1)), (std::vector<double>{1, 3, 2, 4}));
}

TEST(CaseBits, ReadsOneEntryARank) {
  RecordedCase recorded =
      bits_case(R"([{"shape":[2],"hash":"00"},null,{"shape":[],"hash":"01","dtype":"int64"}])");
  auto bits = read_bits(recorded["bits"], 3, DType::float16);
  EXPECT_EQ(bits[0]->dtype, DType::float16);
  EXPECT_EQ(bits[0]->shape, Shape{2});
  EXPECT_FALSE(bits[1]);
  EXPECT_EQ(bits[2]->dtype, DType::int64);
  EXPECT_THROW(read_bits(recorded["bits"], 2, DType::float16), BadCase);
  RecordedCase broken = bits_case(R"([{"shape":[-1],"hash":"00"}])");
  EXPECT_THROW(read_bits(broken["bits"], 1, DType::float16), BadCase);
}

// Each difference is named, and nothing else is.
TEST(CaseBits, ComparesDtypeShapeAndBits) {
  Tensor tensor = tensor_of<std::uint8_t>({1}, {'a'});
  CaseBits right{.shape = {1}, .dtype = DType::uint8, .hash = "af63dc4c8601ec8c"};
  auto found = [&](const CaseBits& expected) {
    CaseReport report;
    expect_bits(report, "rank 2", expected, tensor);
    return report.mismatches();
  };
  EXPECT_THAT(found(right), IsEmpty());
  CaseBits wrong = right;
  wrong.dtype = DType::boolean;
  EXPECT_THAT(found(wrong), Contains(HasSubstr("rank 2: dtype: expected bool, got uint8")));
  wrong = right;
  wrong.shape = {1, 1};
  EXPECT_THAT(found(wrong), Contains(HasSubstr("rank 2: shape: expected [1, 1], got [1]")));
  wrong = right;
  wrong.hash = "af63dc4c8601ec8d";
  EXPECT_THAT(found(wrong), Contains(HasSubstr("rank 2: bits: expected af63dc4c8601ec8d")));
}

}  // namespace
}  // namespace simmesh
