#include "replay/read/read_ahead.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "core/check/error.h"

namespace simmesh::replay {
namespace {

// A source of so many bytes, a few at a time, which can raise an error at its end.
class CountedSource : public ByteSource {
 public:
  CountedSource(std::size_t bytes, std::size_t step, bool raises = false)
      : ByteSource("counted"), bytes_(bytes), step_(step), raises_(raises) {}

  static char byte_at(std::size_t i) { return char('a' + i % 23); }

 protected:
  std::size_t read_more(gsl::span<char> places) override {
    std::size_t count = std::min({places.size(), step_, bytes_ - given_});
    if (count == 0 && raises_) raise(ErrorKind::value_error, "test", "a damaged archive");
    for (std::size_t i = 0; i < count; ++i) places[i] = byte_at(given_ + i);
    given_ += count;
    return count;
  }

 private:
  std::size_t bytes_;
  std::size_t step_;
  bool raises_;
  std::size_t given_ = 0;
};

// The number of bytes that come, nullopt where one of them is wrong.
std::optional<std::size_t> count_right(ByteSource& source, std::size_t step) {
  std::vector<char> places(step);
  std::size_t count = 0;
  while (std::size_t more = source.read(places)) {
    for (std::size_t i = 0; i < more; ++i)
      if (places[i] != CountedSource::byte_at(count + i)) return std::nullopt;
    count += more;
  }
  return count;
}

TEST(ReadAhead, GivesEveryByteOnceAndInOrder) {
  constexpr std::size_t block = 1 << 18;
  for (std::size_t bytes : {std::size_t(0), std::size_t(1), block - 1, block, block + 1, 9 * block})
    for (std::size_t step : {std::size_t(1000), block, 3 * block}) {
      CountedSource source(bytes, 70'000);
      ReadAhead ahead(source);
      EXPECT_EQ(ahead.name(), "counted");
      EXPECT_EQ(count_right(ahead, step), bytes) << bytes << " bytes in steps of " << step;
      EXPECT_EQ(count_right(ahead, step), 0u);
    }
}

TEST(ReadAhead, AnErrorComesAfterTheBytesBeforeIt) {
  for (std::size_t bytes : {std::size_t(0), std::size_t(5), std::size_t(1 << 18)}) {
    CountedSource source(bytes, 1000, true);
    ReadAhead ahead(source);
    std::vector<char> places(100);
    std::size_t count = 0;
    EXPECT_THROW(while (std::size_t more = ahead.read(places)) count += more, Error);
    EXPECT_EQ(count, bytes);
  }
}

TEST(ReadAhead, MayBeLeftAtAnyPlace) {
  for (std::size_t reads = 0; reads < 20; ++reads) {
    CountedSource source(std::size_t(1) << 30, 1 << 16);
    ReadAhead ahead(source);
    std::vector<char> places(100'000);
    for (std::size_t i = 0; i < reads; ++i) ahead.read(places);
  }
}

}  // namespace
}  // namespace simmesh::replay
