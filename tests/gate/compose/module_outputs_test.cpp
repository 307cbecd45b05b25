#include "gate/compose/module_outputs.h"

#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/convert.h"
#include "gate/compose/layouts.h"
#include "gate/runner.h"
#include "tests/gate/compose/compose_texts.h"

namespace simmesh {
namespace {

// Doubles a parameter on the ranks of a layout, and returns the first output that differs.
std::string first_of(const std::string& layout_name, const std::string& parameter) {
  GateFile gate = compose_model_from_text(testing::compose_model("moe"), "m.toml");
  ComposeLayouts layouts = enumerate_layouts(gate, {2, 8});
  for (const ComposeLayout& layout : layouts.fitting) {
    if (layout.name != layout_name) continue;
    GateFile own = gate.run_as(layout.run);
    ModuleOutputs outputs(1);
    auto record = outputs.recorder();
    GateRun run = GateRunner(own, {}).run({.at_model = [&](Rank& rank, nn::Module& model) {
      record(rank, model);
      NoGrad mode;
      for (const auto& [name, tensor] : model.named_parameters())
        if (name == parameter) {
          Tensor values = tensor.local_part();
          copy_(values, mul(values, 2.0));
        }
    }});
    EXPECT_TRUE(run.outcome.ok()) << report(run.outcome);
    return first_other_output(gate, {}, layout.run, outputs);
  }
  ADD_FAILURE() << layout_name;
  return "";
}

// The parts of rows, positions and sequences are those of one device, up to the wrong module.
TEST(ModuleOutputs, NamesTheFirstModuleWhoseOutputDiffers) {
  for (const char* layout :
       {"replicate=2", "fsdp=2+context=2:ring:head_tail", "tensor=2:sequence",
        "replicate=2+context=2:ulysses:contiguous+tensor=2:sequence", "expert=2+tensor=2"}) {
    std::string first = first_of(layout, "norm.weight");
    EXPECT_TRUE(first.starts_with("output of norm in call 0 on rank 1, element "))
        << layout << first;
    first = first_of(layout, "block0.norm2.weight");
    EXPECT_TRUE(first.starts_with("output of block0.norm2 in call 0 on rank 1")) << layout << first;
  }
}

}  // namespace
}  // namespace simmesh
