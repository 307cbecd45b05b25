#include "verify/pytorch/case_plan.h"

#include "tests/expect_error.h"
#include "tests/verify/changed_case.h"
#include "verify/case_tensor.h"
#include "verify/schema_check.h"

namespace simmesh {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

json a_planned_case() {
  return json::parse(R"x({"kind":"plan","id":"i","mesh":{"shape":[2,2]},"devices_per_host":4,
      "tensor":{"shape":[8,6],"dtype":"float64"},"from":["S(0)","S(0)"],"to":["R","S(1)"],
      "from_order":[[0,[1,0]]],"flattened":[[0,1]],"planner":"both"})x");
}

RecordedCase parsed(const json& value) {
  return RecordedCase::parse(value.dump(), {.file = "cases.jsonl", .line = 3});
}

// A field that is read and then dropped would plan for something else than the case says.
TEST(CasePlan, ReadsTheWholeRequest) {
  PlanRequest request = read_plan_request(parsed(a_planned_case()), {});
  EXPECT_EQ(request.shape, (Shape{8, 6}));
  EXPECT_EQ(request.dtype, DType::float64);
  EXPECT_EQ(request.mesh_shape, (Dims{2, 2}));
  EXPECT_EQ(to_string(PlacementSpan(request.from)), "S(0),S(0)");
  EXPECT_EQ(to_string(PlacementSpan(request.to)), "R,S(1)");
  EXPECT_EQ(*request.from_order.entry(0), (Dims{1, 0}));
  EXPECT_TRUE(request.to_order.is_ascending());
  EXPECT_THAT(request.flattened, ElementsAre(Dims{0, 1}));
  EXPECT_EQ(request.topology.devices_per_host, 4);
}

TEST(CasePlan, ReadsPlanners) {
  auto planners = [](const char* name) {
    json value = a_planned_case();
    value["planner"] = name;
    return read_planners(parsed(value)["planner"]);
  };
  EXPECT_THAT(planners("greedy"), ElementsAre(PlannerChoice::greedy));
  EXPECT_THAT(planners("graph"), ElementsAre(PlannerChoice::graph));
  EXPECT_THAT(planners("both"), ElementsAre(PlannerChoice::greedy, PlannerChoice::graph));
}

// Malformed fields are the file's fault, orders that make no sense are the case's.
TEST(CasePlan, RejectsMalformedFields) {
  Schema schema = schema::object(plan_fields(planned_tensor_schema()));
  auto expect_refused = [&](const char* path, const json& wrong, const char* phrase) {
    json value = a_planned_case();
    value[testing::Pointer(path)] = wrong;
    CaseReport report;
    testing::expect_error([&] { check_schema(parsed(value).root(), schema, report); },
                          ErrorKind::value_error, phrase);
  };
  expect_refused("/from/1", "S(", "field 'from.1'");
  expect_refused("/to", "R", "field 'to'");
  expect_refused("/from_order/0", json::array({0}), "field 'from_order.0': expected [an integer; ");
  expect_refused("/flattened/0", "01", "field 'flattened.0'");
  json value = a_planned_case();
  value["from_order"][0][1] = {0, 0};
  testing::expect_error([&] { read_plan_request(parsed(value), {}); }, ErrorKind::value_error, "");
}

}  // namespace
}  // namespace simmesh
