#include "gate/tables/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

const GateLayout two_dims{{2, 3}, {"dp", "cp"}};

nn::ModelNode linear() {
  return {"", "linear", {{"in", std::int64_t(4)}, {"out", std::int64_t(4)}}, {}};
}

GateParallel parallel_of(const std::string& text) {
  toml::table file = parse_toml(text, "g.toml");
  GateTable table(file, "g.toml", "parallel");
  return read_gate_parallel(table, two_dims, linear());
}

// If this fails, a gate trains with another form of parallelism than its report names.
TEST(GateParallel, NamesItsForm) {
  EXPECT_EQ(parallel_of("").form(), "single_device");
  EXPECT_EQ(parallel_of("replicate = {}").form(), "replicate");
  EXPECT_EQ(parallel_of("fsdp = { mesh = \"dp\" }").form(), "fsdp");
  EXPECT_EQ(parallel_of("zero = { stage = 2 }").form(), "zero2");
  EXPECT_FALSE(parallel_of("zero = { stage = 2 }").has_schedule());
  EXPECT_TRUE(parallel_of("zero = { stage = 3 }").has_schedule());
  for (const char* form : {"replicate", "fsdp", "zero0", "zero3"})
    EXPECT_EQ(default_parallel(form, two_dims, linear()).form(), form);
}

// If this fails, rows of a micro-batch are cut into other parts than there are ranks to take them.
TEST(GateParallel, CutsRowsOverTheDimsThatSumGradients) {
  EXPECT_EQ(parallel_of("").parts(two_dims), 1);
  EXPECT_THAT(parallel_of("replicate = { mesh = \"cp\" }").row_dims(), ElementsAre("cp"));
  EXPECT_EQ(parallel_of("replicate = { mesh = \"cp\" }").parts(two_dims), 3);
  EXPECT_EQ(parallel_of("fsdp = { mesh = [\"dp\", \"cp\"] }").parts(two_dims), 6);
}

TEST(GateParallel, RefusesFormsThatDontGoTogether) {
  expect_error([] { parallel_of("fsdp = {}\nreplicate = {}"); }, ErrorKind::value_error,
               "either fsdp or replicate");
  expect_error([] { parallel_of("zero = {}\nfsdp = {}"); }, ErrorKind::value_error,
               "one of fsdp, replicate and zero");
  expect_error([] { parallel_of("pipeline = {}"); }, ErrorKind::value_error,
               "a row of blocks or layers");
  expect_error([] { parallel_of("activation_checkpointing = \"blocks\""); }, ErrorKind::value_error,
               "for a model without blocks");
  expect_error([] { parallel_of("data = {}"); }, ErrorKind::value_error, "parallel.data");
}

// Reading a layout builds no model: compose reads thousands of them. The attention here can't be
// built, as it has no width.
TEST(GateParallel, ReadsALayoutWithoutBuildingTheModel) {
  nn::ModelNode model{.name = "", .kind = "row", .fields = {}, .children = {}};
  for (const char* kind : {"attention", "moe"})
    model.children.push_back(
        {.name = kind, .kind = kind, .fields = {{"heads", std::int64_t(2)}}, .children = {}});
  GateLayout layout{{2, 2}, {"dp", "tp"}};
  toml::table keys{{"fsdp", toml::table{{"mesh", "dp"}}},
                   {"expert", toml::table{{"mesh", "dp"}, {"tensor_parallel", false}}},
                   {"tensor", toml::table{{"mesh", "tp"}}}};
  GateTable table(keys, "g.toml", "parallel");
  GateParallel parallel = read_gate_parallel(table, layout, model);
  EXPECT_TRUE(parallel.fsdp && parallel.expert && parallel.tensor);
}

}  // namespace
}  // namespace simmesh
