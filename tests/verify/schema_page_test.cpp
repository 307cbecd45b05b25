#include "verify/schema_page.h"

#include <gmock/gmock.h>

namespace simmesh {
namespace {

using namespace schema;

Schema knot_schema() {
  return named("knot", [] {
    return object({required("name", text()), optional("in", list(knot_schema()))});
  });
}

TEST(SchemaPage, SaysInWordsWhatIsAccepted) {
  EXPECT_EQ(in_words(*list(integer({.min = 1}), {.min = 1})),
            "a list of at least 1 entry, each an integer of at least 1");
  EXPECT_EQ(in_words(*list(text(), {.max = 64})), "a list of at most 64 entries, each a text");
  EXPECT_EQ(in_words(*or_null(word({"a", "b", "c"}))), "a, b or c or null");
  EXPECT_EQ(in_words(*tuple({text(), seed()})), "[a text; an integer in 0 .. 2^64-1]");
  EXPECT_EQ(in_words(*map(knot_schema())), "an object of any names, each a knot");
}

// Every field at every depth is on the page, with the word that chooses it; a schema with a name is
// there once, though it contains itself.
TEST(SchemaPage, HasARowForEachField) {
  SchemaPage page;
  page.add("tie", "what is compared",
           object_by("how", {{"twice", {required("with", knot_schema())}}, {"once", {}}},
                     {expected("result", list(object({expected("x", hash())}))).unless("error"),
                      expected("error", text()).or_absent()}));
  EXPECT_EQ(page.text(), R"(
## tie
what is compared

| field | value | |
| --- | --- | --- |
| `result` | a list, each an object with 'x' | compared; instead of `error` |
| `result[].x` | 16 hex digits | compared |
| `error` | a text | compared; optional |
| `how` | twice or once |  |
| `with` | a knot | `how` twice |

## knot
| field | value | |
| --- | --- | --- |
| `name` | a text |  |
| `in` | a list, each a knot | optional |
)");
}

}  // namespace
}  // namespace simmesh
