#include "gate/compose/first_cause.h"

#include <gtest/gtest.h>

#include "gate/runner.h"
#include "tests/gate/compose/compose_texts.h"

namespace simmesh {
namespace {

const ComposeLayout& layout_of(const ComposeLayouts& all, const std::string& name) {
  for (const ComposeLayout& layout : all.fitting)
    if (layout.name == name) return layout;
  ADD_FAILURE() << name;
  return all.fitting.front();
}

// Returns the cause where a layout is compared with one device that trains another model.
std::string cause_of(const std::string& model, const std::string& other, const std::string& name) {
  GateFile gate = compose_model_from_text(model, "m.toml");
  GateFile single = compose_model_from_text(other, "m.toml");
  GateRun one = GateRunner(single, {}).run({.keep_record = true});
  ComposeLayouts layouts = enumerate_layouts(gate, {2, 8});
  return first_cause({.gate = gate,
                      .options = {},
                      .layout = layout_of(layouts, name),
                      .one_device = *one.ranks[0].record});
}

// The learning rate shows in the parameters only, and in the gradients of the second step.
TEST(FirstCause, IsTheFirstGradientOfTheBackwardPass) {
  std::string model = testing::compose_model("transformer"), other = model;
  other.replace(other.find("\"adamw\""), 7, "\"adamw\", lr = 0.5");
  std::string cause = cause_of(model, other, "fsdp=2+tensor=2:sequence");
  EXPECT_NE(cause, "");
  EXPECT_EQ(cause.find("step 0"), cause.npos) << cause;
}

}  // namespace
}  // namespace simmesh
