#include "replay/validate/check_attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;
using testing::MadeTrace;

using AttributeValue = std::variant<std::int64_t, std::string>;

MadeTrace exchange_with_splits() {
  MadeTrace made(0);
  made.group("0", {}, 2);
  made.add({.name = "all_to_allv", .in_split = {3, 5}, .out_split = {4, 4}}).figures(0, 1, 2);
  return made;
}

std::string attribute_faults(MadeTrace made) {
  TraceJob job = testing::made_job(made);
  Findings findings;
  JobGroups groups = resolve_groups(job, findings);
  check_attributes(JobView(job, groups), {}, findings);
  return testing::findings_text(findings);
}

// Each attribute, as it is and as it isn't.
TEST(CheckAttributes, EachIsComparedWithTheArguments) {
  struct Entry {
    const char* name;
    AttributeValue right;
    AttributeValue wrong;
    const char* rule;
  };
  const Entry entries[] = {
      {"in_msg_nelems", 8, 9, "attr_size"},
      {"out_msg_nelems", 8, 7, "attr_size"},
      {"in_split_size", "[3, 5]", "[5, 3]", "attr_size"},
      {"out_split_size", "[4, 4]", "[]", "attr_size"},
      {"pg_size", 2, 3, "attr_size"},
      {"global_rank_start", 0, 1, "attr_size"},
      {"global_rank_stride", 1, 2, "attr_size"},
      {"collective_name", "all_to_allv", "allreduce", "attr_name"},
      {"pg_name", "0", "1", "attr_name"},
      {"pg_desc", "undefined", "default_pg", "attr_name"},
      {"dtype", "Float", "Long", "dtype"},
  };
  for (const Entry& entry : entries) {
    EXPECT_EQ(attribute_faults(exchange_with_splits().attribute(entry.name, entry.right)), "")
        << entry.name;
    EXPECT_THAT(attribute_faults(exchange_with_splits().attribute(entry.name, entry.wrong)),
                HasSubstr(fmt::format("error {}: rank 0 node 3 {}: the attribute says", entry.rule,
                                      entry.name)));
  }
}

TEST(CheckAttributes, LongSplitsAreCut) {
  EXPECT_EQ(attribute_faults(exchange_with_splits().attribute("in_split_size", "[3, ...]")), "");
}

TEST(CheckAttributes, ASideWithoutTensorsSaysNothing) {
  MadeTrace made(0);
  made.group("0", {}, 2).add({.name = "gather", .out = {}});
  EXPECT_EQ(attribute_faults(made.attribute("out_msg_nelems", 16)), "");
}

TEST(CheckAttributes, BothSidesHaveOneDtype) {
  MadeTrace made = exchange_with_splits();
  made.trace().tensors[1].type = made.trace().texts.id_of("double");
  EXPECT_EQ(attribute_faults(made),
            "error dtype: rank 0 node 3 outputs: expected outputs of the inputs' "
            "dtype float, got double\n");
}

}  // namespace
}  // namespace simmesh::replay
