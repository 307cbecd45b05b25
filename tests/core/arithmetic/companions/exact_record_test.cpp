#include "core/arithmetic/companions/exact_record.h"

#include <gtest/gtest.h>

#include "tests/core/arithmetic/companions/exact_cases.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

// A storage of eight floats.
struct FloatStorage {
  float data[8] = {};
  ElementsOfStorage part(std::int64_t first, Shape shape, Strides strides) {
    return {{reinterpret_cast<std::byte*>(data + first), DType::float32, std::move(shape),
             std::move(strides)},
            first * 4};
  }
  ElementsOfStorage row(std::int64_t first, std::int64_t count) {
    return part(first, {count}, {1});
  }
};

ExactValues thirds_from(std::int64_t first, std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(double(first + i));
  return ExactValues::of_doubles(values).divided(3);
}

// If this fails, a part or an alias of what was written reads other values.
TEST(ExactRecord, AnyViewReadsWhatWasWritten) {
  for (std::int64_t first = 0; first < 8; ++first)
    for (std::int64_t count = 1; first + count <= 8; ++count) {
      FloatStorage storage;
      ExactRecord record(sizeof storage.data);
      EXPECT_FALSE(record.read(storage.row(0, 8)));
      record.write(storage.row(first, count), thirds_from(1, count));
      ASSERT_TRUE(record.read(storage.row(0, 8)));
      ExactValues all = *record.read(storage.row(0, 8));
      ExactValues turned = *record.read(storage.part(0, {2, 4}, {1, 2}));
      for (std::int64_t i = 0; i < 8; ++i) {
        bool inside = i >= first && i < first + count;
        Rational expected = inside ? Rational(i - first + 1) / 3 : Rational(0);
        ASSERT_EQ(rational(all, i), expected);
        ASSERT_EQ(rational(turned, i % 2 * 4 + i / 2), expected);
      }
    }
}

// If this fails, a value outlives the bits of its element, or a drop.
TEST(ExactRecord, ValuesEndWithTheBitsOfTheirElements) {
  FloatStorage storage;
  ExactRecord record;
  record.write(storage.row(0, 8), thirds_from(1, 8));
  storage.data[1] = 0.5f;
  EXPECT_EQ(rational(*record.read(storage.row(0, 2)), 1), rational(0.5));
  EXPECT_EQ(rational(*record.read(storage.row(0, 2)), 0), Rational(1) / 3);
  record.drop(storage.part(0, {4}, {2}));
  EXPECT_FALSE(record.read(storage.part(0, {4}, {2})));
  EXPECT_EQ(rational(*record.read(storage.row(0, 8)), 3), Rational(4) / 3);
  EXPECT_EQ(rational(record.read(storage.row(5, 1)).value_or(thirds_from(6, 1)), 0), 2);
}

// If this fails, values are kept for elements that have other bits.
TEST(ExactRecord, KeepTakesOnlyWhatTheElementsAre) {
  FloatStorage storage;
  ExactRecord record;
  storage.data[0] = 1.f / 3;
  storage.data[1] = 2.f / 3;
  storage.data[2] = -0.f;
  record.keep(storage.row(0, 3), thirds_from(1, 3));
  ExactValues read = *record.read(storage.row(0, 3));
  EXPECT_EQ(rational(read, 0), Rational(1) / 3);
  EXPECT_EQ(rational(read, 1), Rational(2) / 3);
  EXPECT_EQ(rational(read, 2), 0);
  EXPECT_TRUE(std::signbit(doubles_of(read)[2]));
  testing::expect_error([&] { record.keep(storage.row(0, 3), thirds_from(1, 2)); },
                        ErrorKind::value_error, "expected 2 elements, got 3");
}

// If this fails, memory grows with every write.
TEST(ExactRecord, WrittenBlocksAreGivenBack) {
  FloatStorage storage;
  ExactRecord record;
  record.write(storage.row(0, 8), thirds_from(1, 8));
  std::int64_t bytes = record.nbytes();
  for (int i = 0; i < 10; ++i) record.write(storage.row(0, 8), thirds_from(i, 8));
  EXPECT_LE(record.nbytes(), bytes + 8 * 8);
  record.drop(storage.row(0, 8));
  EXPECT_LT(record.nbytes(), bytes);
}

// If this fails, elements of another size keep a value that their bytes don't have.
TEST(ExactRecord, SizesOfElementsExcludeEachOther) {
  FloatStorage storage;
  ExactRecord record;
  ElementsOfStorage doubles = storage.row(0, 4);
  doubles.array.dtype = DType::float64;
  record.write(doubles, thirds_from(1, 4));
  record.write(storage.row(2, 1), thirds_from(1, 1));
  EXPECT_EQ(rational(*record.read(doubles), 0), Rational(1) / 3);
  double second = 0;
  std::memcpy(&second, storage.data + 2, sizeof second);
  EXPECT_EQ(rational(*record.read(doubles), 1), rational(second));
  ElementsOfStorage astray = storage.row(1, 2);
  astray.array.dtype = DType::float64;
  astray.array.shape = {1};
  testing::expect_error([&] { static_cast<void>(record.read(astray)); }, ErrorKind::value_error,
                        "expected elements at a multiple of 8 bytes, got an offset of 4");
}

}  // namespace
}  // namespace simmesh
