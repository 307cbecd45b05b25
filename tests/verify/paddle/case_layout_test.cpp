#include "verify/paddle/case_layout.h"

#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

RecordedCase layout_record(const std::string& fields) {
  return RecordedCase::parse(R"({"kind":"k","id":"i",)" + fields + "}", {});
}

TEST(CaseLayout, ReadsCutsAndPartialMeshDims) {
  RecordedCase recorded = layout_record(R"("dims":[[0,2],[]],"partial":{"1":"any"})");
  EXPECT_EQ(paddle::to_string(read_paddle_layout(recorded.root())), "[[0,2],[]] partial {1: any}");
  EXPECT_THROW(read_paddle_layout(layout_record(R"("dims":[],"partial":{"x":"sum"})").root()),
               BadCase);
  EXPECT_THROW(read_paddle_layout(layout_record(R"("dims":[],"partial":{"99":"sum"})").root()),
               BadCase);
}

TEST(CaseLayout, ReadsPaddlesPlacements) {
  RecordedCase recorded = layout_record(R"j("to":["P(all)","S(1)"])j");
  EXPECT_EQ(read_paddle_placements(recorded["to"]),
            (Placements{Partial(ReduceOp::band), Shard(1)}));
}

}  // namespace
}  // namespace simmesh
