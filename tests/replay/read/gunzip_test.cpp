#include "replay/read/gunzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "tests/expect_error.h"
#include "tests/replay/packed.h"

namespace simmesh::replay {
namespace {

std::string unpacked_in_steps(std::string_view packed, std::size_t step) {
  TextSource source("a.gz", packed);
  GunzipSource unpacked(source);
  std::string text;
  std::vector<char> places(step);
  while (std::size_t count = unpacked.read(places)) text.append(places.data(), count);
  return text;
}

// Would fail if members after the first were lost, or what follows them counted.
TEST(Gunzip, UnpacksAllMembers) {
  std::string packed = testing::gzip("first ") + testing::gzip("") + testing::gzip("second");
  for (std::size_t step : {1u, 5u, 1000u}) {
    EXPECT_EQ(unpacked_in_steps(packed, step), "first second");
    EXPECT_EQ(unpacked_in_steps(packed + std::string(700, '\0'), step), "first second");
  }
  EXPECT_TRUE(is_gzip(packed));
  EXPECT_FALSE(is_gzip("{\"schema\""));
  EXPECT_FALSE(is_gzip("\x1f"));
}

// Would fail if a file that ends early, or whose bytes were changed, were read as a whole one.
TEST(Gunzip, RefusesWhatIsDamaged) {
  std::string packed = testing::gzip("first");
  for (std::size_t count = 2; count < packed.size(); ++count)
    testing::expect_error([&] { unpacked_in_steps(packed.substr(0, count), 7); },
                          ErrorKind::value_error, "a.gz: expected a file that gzip wrote");
  packed[packed.size() - 6] ^= 4;
  testing::expect_error([&] { unpacked_in_steps(packed, 7); }, ErrorKind::value_error,
                        "incorrect data check");
}

}  // namespace
}  // namespace simmesh::replay
