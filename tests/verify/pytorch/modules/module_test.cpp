#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;
constexpr const char* other_bits = "0000000000000000";

json module_case(const std::string& name) {
  return testing::first_with("../pytorch_ops/module.jsonl", [&](const json& each) {
    return each["id"].get<std::string>().starts_with("module/" + name + "/");
  });
}

// Each comparison that never fires would let a wrong result pass as right.
TEST(VerifyModule, NamesWhatDiffers) {
  json value = module_case("col_row");
  testing::expect_passes(value);
  testing::expect_fails(value, "/output/hash/1", other_bits, "rank 1: output: bits");
  testing::expect_fails(value, "/output/local_shape/0", json::array({9}), "output: shape");
  testing::expect_fails(value, "/params_after/0/placements/0", "S(1)",
                        "parameter net1.weight: placements");
  testing::expect_fails(value, "/params_after/1/hash/0", other_bits, "parameter net1.bias: bits");
  testing::expect_fails(value, "/grads/2/hash/0", other_bits, "gradient net2.weight: bits");
  testing::expect_fails(value, "/input_grad/hash/0", other_bits, "gradient of the input: bits");
  testing::expect_fails(value, "/comm_forward/all_reduce", 2, "collectives forward");
  testing::expect_fails(value, "/comm_backward/all_reduce", 2, "collectives backward");
}

// Arguments of a style that aren't read leave the module as PyTorch's defaults have it.
TEST(VerifyModule, ReadsTheArgumentsOfStyles) {
  json rows = module_case("row_scatter");
  testing::expect_passes(rows);
  testing::expect_fails(rows, "/plan/lin/output_layouts", "R", "Mismatch in shape");
  json columns = module_case("col_dtensor");
  testing::expect_passes(columns);
  testing::expect_fails(columns, "/plan/lin/use_local_output", true, "output: placements");
  for (const char* name : {"prepare_input", "prepare_output", "sequence_parallel_rms", "attention",
                           "block", "embed_row", "attention_tp_of_2d"})
    testing::expect_passes(module_case(name));
}

// A loss on split logits is compared with a tolerance that lets everything pass.
TEST(VerifyModule, ComparesLossesOfSplitLogits) {
  json value = module_case("loss_parallel");
  testing::expect_passes(value);
  double loss = value["output"]["values"][0][0];
  testing::expect_fails(value, "/output/values/0/0", loss * (1 + 1e-6), "output: value 0");
  testing::expect_fails(value, "/loss/reduction", "sum", "output: value 0");
}

}  // namespace
}  // namespace simmesh
