#include "replay/report/markup.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

TEST(Markup, NothingOfATextIsTakenForMarkup) {
  EXPECT_EQ(markup("<script>\"a\" & 'b'</script>"),
            "&lt;script&gt;&quot;a&quot; &amp; 'b'&lt;/script&gt;");
  EXPECT_EQ(markup("a\x01\n\tb"), "a\n\tb");
}

TEST(Markup, PixelsHaveTwoDecimals) {
  EXPECT_EQ(pixels(1), "1.00");
  EXPECT_EQ(pixels(2.345), "2.35");
}

}  // namespace
}  // namespace simmesh::replay
