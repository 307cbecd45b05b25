#include "zero/config/config_value.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

template <class T>
T value_of(const std::string& text, const ConfigBounds& bounds = {}) {
  T value{};
  read_value({JsonValue::parse(text), "section.key"}, bounds, value);
  return value;
}

// If this fails, a configuration that DeepSpeed takes is refused, or means something else.
TEST(ConfigValue, ReadsAsPydanticDoes) {
  EXPECT_EQ(value_of<std::int64_t>("3.0"), 3);
  EXPECT_EQ(value_of<std::int64_t>("\"12\""), 12);
  EXPECT_EQ(value_of<double>("2"), 2.0);
  EXPECT_EQ(value_of<bool>("1"), true);
  EXPECT_EQ(value_of<bool>("\"yes\""), true);
  EXPECT_EQ(value_of<bool>("\"off\""), false);
  EXPECT_EQ(value_of<std::vector<std::string>>("\"one\""), std::vector<std::string>{"one"});
  EXPECT_FALSE(value_of<std::optional<std::int64_t>>("null"));
  EXPECT_EQ(value_of<OffloadDevice>("\"nvme\""), OffloadDevice::nvme);
}

TEST(ConfigValue, ErrorsNameTheKeyAndWhatCame) {
  expect_error([] { value_of<std::int64_t>("1.5"); }, ErrorKind::value_error, "section.key");
  expect_error([] { value_of<bool>("2"); }, ErrorKind::value_error, "section.key");
  expect_error([] { value_of<std::int64_t>("-1", {.min = 0}); }, ErrorKind::value_error, "-1");
  expect_error([] { value_of<std::int64_t>("0", {.min = 0, .is_open = true}); },
               ErrorKind::value_error, "section.key");
  expect_error([] { value_of<OffloadDevice>("\"disk\""); }, ErrorKind::value_error, "disk");
  expect_error(
      [] {
        expect_object({JsonValue(std::int64_t(3)), "section"});
      },
      ErrorKind::type_error, "section");
}

// If this fails, a configuration that is written can't be read again.
TEST(ConfigValue, WrittenIsTheInverse) {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    DType again = DType::int64;
    JsonValue text = written(dtype);
    read_value({text, "dtype"}, {}, again);
    EXPECT_EQ(again, dtype);
  }
  for (OffloadDevice device : {OffloadDevice::none, OffloadDevice::cpu, OffloadDevice::nvme}) {
    OffloadDevice again = OffloadDevice::none;
    JsonValue text = written(device);
    read_value({text, "device"}, {}, again);
    EXPECT_EQ(again, device);
  }
  EXPECT_EQ(written(std::array<double, 2>{0.5, 0.75}).text(80), "[0.5,0.75]");
  EXPECT_TRUE(written(std::optional<double>()).is_null());
}

}  // namespace
}  // namespace simmesh::zero
