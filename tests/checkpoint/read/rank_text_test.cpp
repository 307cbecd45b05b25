#include "checkpoint/read/rank_text.h"

#include <gtest/gtest.h>
#include <limits>

#include "core/check/check.h"

namespace simmesh::checkpoint {
namespace {

// A number that changed on its way would put elements in the wrong place.
TEST(RankText, KeepsEveryNumber) {
  std::vector<std::int64_t> numbers = {std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()};
  for (int bit = 0; bit < 63; ++bit)
    for (std::int64_t near : {-1, 0, 1})
      for (std::int64_t sign : {-1, 1}) numbers.push_back(sign * ((std::int64_t{1} << bit) + near));
  RankTextWriter writer;
  for (std::int64_t number : numbers) writer.add(number);
  RankTextReader reader(writer.text());
  for (std::int64_t number : numbers) EXPECT_EQ(reader.number(), number);
  EXPECT_TRUE(reader.at_end());
}

// Names may have any bytes, also those that separate texts elsewhere.
TEST(RankText, KeepsTextsAndBoxes) {
  const std::string texts[] = {"", "a \"b\"\n", std::string("\0\x80\xff", 3),
                               std::string(300, 'x')};
  const Box boxes[] = {{{}, {}}, {{0, 5}, {1, 0}}, {{1'000'000}, {7}}};
  RankTextWriter writer;
  for (const std::string& text : texts) writer.add(text);
  for (const Box& box : boxes) writer.add(box);
  writer.add(DimSpan(Shape{3, 4}));
  RankTextReader reader(writer.text());
  for (const std::string& text : texts) EXPECT_EQ(reader.text(), text);
  for (const Box& box : boxes) EXPECT_EQ(reader.box(), box);
  EXPECT_EQ(reader.dims(), (Dims{3, 4}));
  EXPECT_TRUE(reader.at_end());
}

TEST(RankText, SmallNumbersTakeOneByte) {
  RankTextWriter writer;
  for (std::int64_t number = -64; number < 64; ++number) writer.add(number);
  EXPECT_EQ(writer.text().size(), 128u);
}

TEST(RankText, EndsWhereTheTextDoes) {
  RankTextWriter writer;
  writer.add("text");
  RankTextReader cut(std::string_view(writer.text()).substr(0, 3)), empty("");
  EXPECT_THROW(cut.text(), ContractViolation);
  EXPECT_THROW(empty.number(), ContractViolation);
}

}  // namespace
}  // namespace simmesh::checkpoint
