#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "tests/tidy/declarations.h"
#include "tests/tidy/house.h"

// Every concept has a test: x/y.cpp, or x/y.h with functions and no x/y.cpp, has
// tests/x/y_test.cpp.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// shared_tests lists the concepts that are tested together with another one, and where.
const std::map<std::string, std::string> shared_tests = {
    {"collectives/exchange", "tests/collectives/collective_call_test.cpp"},
    {"collectives/fabric", "tests/collectives/collectives_test.cpp"},
    {"collectives/group", "tests/collectives/collectives_test.cpp"},
    {"collectives/mailbox", "tests/collectives/point_to_point_test.cpp"},
    {"collectives/membership", "tests/collectives/collectives_test.cpp"},
    {"collectives/object_board", "tests/collectives/shape_transport_test.cpp"},
    {"collectives/shared_memory_transport", "tests/collectives/collectives_test.cpp"},
    {"collectives/work_state", "tests/collectives/work_test.cpp"},
    {"core/arithmetic/exact_product", "tests/core/arithmetic/product_test.cpp"},
    {"core/arithmetic/non_finite_terms", "tests/core/arithmetic/digit_sums_test.cpp"},
    {"core/arithmetic/packing", "tests/core/arithmetic/product_test.cpp"},
    {"core/arithmetic/product_request", "tests/core/arithmetic/product_test.cpp"},
    {"core/arithmetic/sums_behind", "tests/core/arithmetic/unrounded_test.cpp"},
    {"core/autograd/function", "tests/core/autograd/backward_test.cpp"},
    {"core/autograd/node", "tests/core/autograd/backward_test.cpp"},
    {"core/autograd/saved_tensor", "tests/core/autograd/checkpoint_test.cpp"},
    {"core/check/int128", "tests/core/arithmetic/wide_rounding_test.cpp"},
    {"core/clock/device_model", "tests/core/clock/clock_test.cpp"},
    {"core/clock/kernel_launch", "tests/core/tensor/launch_test.cpp"},
    {"core/clock/vector_clock", "tests/core/clock/race_checker_test.cpp"},
    {"core/engine/activity", "tests/collectives/deadlock_test.cpp"},
    {"core/engine/ended_fibers", "tests/core/engine/world_test.cpp"},
    {"core/engine/explore", "tests/collectives/explore_test.cpp"},
    {"core/engine/failure_report", "tests/collectives/deadlock_test.cpp"},
    {"core/engine/fault", "tests/collectives/fault_test.cpp"},
    {"core/engine/fiber_scheduler", "tests/core/engine/world_test.cpp"},
    {"core/engine/fiber_switch", "tests/core/engine/world_test.cpp"},
    {"core/engine/lane", "tests/core/engine/world_test.cpp"},
    {"core/engine/local_state", "tests/core/engine/state_map_test.cpp"},
    {"core/engine/outcome", "tests/core/engine/world_test.cpp"},
    {"core/engine/rank_figures", "tests/core/engine/shapes_only_test.cpp"},
    {"core/release/release_page", "tests/tools/releases_command_test.cpp"},
    {"core/engine/run", "tests/core/engine/world_test.cpp"},
    {"core/engine/trace_file", "tests/core/engine/run_trace_test.cpp"},
    {"core/engine/shared", "tests/collectives/explore_test.cpp"},
    {"core/engine/worker", "tests/core/engine/world_test.cpp"},
    {"core/engine/world_options", "tests/core/engine/world_test.cpp"},
    {"core/kernels/apply_function_kernels", "tests/core/arithmetic/functions_test.cpp"},
    {"core/kernels/combine_kernels", "tests/core/arithmetic/combine_test.cpp"},
    {"core/kernels/conversion_kernels", "tests/core/tensor/convert_test.cpp"},
    {"core/kernels/copy_kernels", "tests/core/tensor/strided_copy_test.cpp"},
    {"core/kernels/element_kernels", "tests/core/arithmetic/combine_test.cpp"},
    {"core/kernels/fold_kernels", "tests/core/arithmetic/exact_order_test.cpp"},
    {"core/kernels/function_kernels", "tests/core/arithmetic/functions_test.cpp"},
    {"core/kernels/instruction_set", "tests/core/arithmetic/self_check_test.cpp"},
    {"core/kernels/kernels", "tests/core/arithmetic/self_check_test.cpp"},
    {"core/kernels/kernels_avx2", "tests/core/arithmetic/self_check_test.cpp"},
    {"core/kernels/kernels_avx512", "tests/core/arithmetic/self_check_test.cpp"},
    {"core/kernels/kernels_portable", "tests/core/arithmetic/self_check_test.cpp"},
    {"core/kernels/lanes", "tests/core/arithmetic/product_test.cpp"},
    {"core/kernels/packing_kernels", "tests/core/arithmetic/product_test.cpp"},
    {"core/kernels/pair_function_kernels", "tests/core/arithmetic/functions_test.cpp"},
    {"core/kernels/product_kernels", "tests/core/arithmetic/product_test.cpp"},
    {"core/kernels/slice_kernels", "tests/core/arithmetic/sliced_product_test.cpp"},
    {"core/kernels/sum_kernels", "tests/core/arithmetic/sums_test.cpp"},
    {"core/kernels/triple_kernels", "tests/core/arithmetic/exact_sums_test.cpp"},
    {"core/kernels/wide_kernels", "tests/core/arithmetic/wide_chains_test.cpp"},
    {"core/memory/data_mode", "tests/core/engine/shapes_only_test.cpp"},
    {"core/nn/activation", "tests/core/nn/model_node_test.cpp"},
    {"core/nn/block", "tests/core/nn/model_node_test.cpp"},
    {"core/nn/containers", "tests/core/nn/model_node_test.cpp"},
    {"core/nn/convolution", "tests/core/nn/model_node_test.cpp"},
    {"core/nn/dropout", "tests/core/nn/model_node_test.cpp"},
    {"core/nn/linear", "tests/core/nn/model_node_test.cpp"},
    {"core/nn/mlp", "tests/core/nn/model_node_test.cpp"},
    {"core/nn/moe", "tests/core/nn/model_node_test.cpp"},
    {"core/nn/normalization", "tests/core/nn/model_node_test.cpp"},
    {"core/gradients/elementwise/activations",
     "tests/core/gradients/elementwise/pointwise_test.cpp"},
    {"core/gradients/elementwise/complex", "tests/core/gradients/shapes/views_test.cpp"},
    {"core/gradients/elementwise/conversion",
     "tests/core/gradients/elementwise/pointwise_test.cpp"},
    {"core/gradients/elementwise/elementary",
     "tests/core/gradients/elementwise/pointwise_test.cpp"},
    {"core/gradients/elementwise/inplace", "tests/core/ops/elementwise/inplace_test.cpp"},
    {"core/gradients/elementwise/interpolation",
     "tests/core/gradients/elementwise/pointwise_test.cpp"},
    {"core/gradients/elementwise/slopes", "tests/core/gradients/elementwise/pointwise_test.cpp"},
    {"core/gradients/elementwise/trigonometry", "tests/core/ops/elementwise/trigonometry_test.cpp"},
    {"core/gradients/indexing/gathering", "tests/core/gradients/shapes/views_test.cpp"},
    {"core/gradients/indexing/indexing", "tests/core/gradients/shapes/views_test.cpp"},
    {"core/gradients/indexing/rearranging", "tests/core/gradients/shapes/views_test.cpp"},
    {"core/gradients/indexing/scatter_reduce", "tests/core/ops/indexing/scatter_reduce_test.cpp"},
    {"core/gradients/indexing/scattering", "tests/core/ops/indexing/scattering_test.cpp"},
    {"core/gradients/indexing/source_gradient", "tests/core/ops/indexing/scatter_reduce_test.cpp"},
    {"core/gradients/matrices/linear_algebra", "tests/core/ops/matrices/linear_algebra_test.cpp"},
    {"core/gradients/matrices/products", "tests/core/gradients/shapes/views_test.cpp"},
    {"core/gradients/matrices/spectral", "tests/core/ops/matrices/spectral_test.cpp"},
    {"core/gradients/neural/batch_normalization",
     "tests/core/ops/neural/batch_normalization_test.cpp"},
    {"core/gradients/neural/convolution", "tests/core/gradients/shapes/views_test.cpp"},
    {"core/gradients/neural/flash_attention", "tests/core/ops/neural/flash_attention_test.cpp"},
    {"core/gradients/neural/normalization", "tests/core/gradients/neural/losses_test.cpp"},
    {"core/gradients/neural/normalized_gradient", "tests/core/gradients/neural/losses_test.cpp"},
    {"core/gradients/neural/pooling", "tests/core/gradients/shapes/views_test.cpp"},
    {"core/gradients/neural/softmax", "tests/core/gradients/reductions/sums_test.cpp"},
    {"core/gradients/random/random", "tests/core/gradients/neural/losses_test.cpp"},
    {"core/gradients/reductions/extremes", "tests/core/gradients/reductions/sums_test.cpp"},
    {"core/gradients/reductions/logcumsumexp", "tests/core/ops/reductions/logcumsumexp_test.cpp"},
    {"core/gradients/reductions/order_statistics",
     "tests/core/ops/reductions/order_statistics_test.cpp"},
    {"core/gradients/reductions/running_extremes",
     "tests/core/ops/reductions/running_extremes_test.cpp"},
    {"core/gradients/reductions/scans", "tests/core/gradients/reductions/sums_test.cpp"},
    {"core/gradients/reductions/selected_elements",
     "tests/core/ops/reductions/running_extremes_test.cpp"},
    {"core/gradients/reductions/sorting", "tests/core/gradients/shapes/views_test.cpp"},
    {"core/gradients/reductions/spread", "tests/core/gradients/reductions/sums_test.cpp"},
    {"core/gradients/reductions/statistics", "tests/core/gradients/reductions/sums_test.cpp"},
    {"core/gradients/shapes/joining", "tests/core/gradients/shapes/views_test.cpp"},
    {"core/gradients/shapes/unfolding", "tests/core/ops/shapes/unfolding_test.cpp"},
    {"core/ops/attributes", "tests/core/ops/call_test.cpp"},
    {"core/ops/compute_mode", "tests/core/ops/call_test.cpp"},
    {"core/ops/dim_list", "tests/core/ops/reductions/sums_test.cpp"},
    {"core/ops/elementwise/activations", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/elementwise/comparison", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/elementwise/conversion", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/elementwise/elementary", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/elementwise/function_op", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/elementwise/interpolation", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/elementwise/logic", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/elementwise/pointwise_op", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/elementwise/selection", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/elementwise/unrounded_pointwise",
     "tests/core/ops/reductions/unrounded_fold_test.cpp"},
    {"core/ops/gradient_call", "tests/core/ops/call_test.cpp"},
    {"core/ops/indexing/block_sums", "tests/core/ops/indexing/scattering_test.cpp"},
    {"core/ops/indexing/places", "tests/core/ops/indexing/gathering_test.cpp"},
    {"core/ops/indexing/scatter_call", "tests/core/ops/indexing/scattering_test.cpp"},
    {"core/ops/matrices/matrix", "tests/core/ops/matrices/products_test.cpp"},
    {"core/ops/matrices/matrix_batch", "tests/core/ops/matrices/linear_algebra_test.cpp"},
    {"core/ops/matrices/matrix_decompositions", "tests/core/ops/matrices/linear_algebra_test.cpp"},
    {"core/ops/matrices/scales", "tests/core/ops/matrices/products_test.cpp"},
    {"core/ops/matrices/singular_values", "tests/core/ops/matrices/spectral_test.cpp"},
    {"core/ops/neural/attention", "tests/core/ops/neural/losses_test.cpp"},
    {"core/ops/neural/class_targets", "tests/core/ops/neural/losses_test.cpp"},
    {"core/ops/neural/normalization", "tests/core/ops/neural/losses_test.cpp"},
    {"core/ops/neural/normalized_groups", "tests/core/ops/neural/batch_normalization_test.cpp"},
    {"core/ops/neural/softmax", "tests/core/ops/neural/losses_test.cpp"},
    {"core/ops/neural/windows", "tests/core/ops/neural/convolution_test.cpp"},
    {"core/ops/number", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/op", "tests/core/ops/call_test.cpp"},
    {"core/ops/promotion", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/random/default_generator", "tests/core/nn/init_test.cpp"},
    {"core/ops/random/random", "tests/core/ops/neural/losses_test.cpp"},
    {"core/ops/reductions/closeness", "tests/core/ops/reductions/sums_test.cpp"},
    {"core/ops/reductions/extremes", "tests/core/ops/reductions/sums_test.cpp"},
    {"core/ops/reductions/folded", "tests/core/ops/reductions/sums_test.cpp"},
    {"core/ops/reductions/reduction_call", "tests/core/ops/reductions/sums_test.cpp"},
    {"core/ops/reductions/scans", "tests/core/ops/reductions/sums_test.cpp"},
    {"core/ops/reductions/statistics", "tests/core/ops/reductions/sums_test.cpp"},
    {"core/ops/shapes/op_views", "tests/core/ops/shapes/views_test.cpp"},
    {"core/ops/shapes/view_arguments", "tests/core/ops/shapes/views_test.cpp"},
    {"core/ops/shapes/view_shapes", "tests/core/ops/shapes/views_test.cpp"},
    {"core/optim/adam", "tests/core/optim/optimizer_test.cpp"},
    {"core/optim/clip", "tests/core/optim/schedule_test.cpp"},
    {"core/optim/element_update", "tests/core/optim/optimizer_test.cpp"},
    {"core/optim/ema", "tests/core/optim/optimizer_test.cpp"},
    {"core/optim/learning_rate", "tests/core/optim/schedule_test.cpp"},
    {"core/optim/loss_scaler", "tests/core/optim/schedule_test.cpp"},
    {"core/optim/sgd", "tests/core/optim/optimizer_test.cpp"},
    {"fsdp/all_gather", "tests/fsdp/fully_shard_test.cpp"},
    {"fsdp/comm_streams", "tests/fsdp/streams_test.cpp"},
    {"fsdp/comm_context", "tests/fsdp/fsdp_module_test.cpp"},
    {"fsdp/event", "tests/fsdp/fully_shard_test.cpp"},
    {"fsdp/event_fields", "tests/fsdp/fully_shard_test.cpp"},
    {"fsdp/gradient_rows", "tests/fsdp/fully_shard_test.cpp"},
    {"fsdp/lazy_init", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"fsdp/load_source", "tests/fsdp/state_dict_test.cpp"},
    {"fsdp/managed", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"fsdp/mesh_info", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"fsdp/named_params", "tests/fsdp/state_dict_test.cpp"},
    {"fsdp/options", "tests/fsdp/fully_shard_test.cpp"},
    {"fsdp/param_extension", "tests/fsdp/gather_extension_test.cpp"},
    {"fsdp/param_gradient", "tests/fsdp/param_test.cpp"},
    {"fsdp/param_group", "tests/fsdp/known_faults_test.cpp"},
    {"fsdp/param_group_iteration", "tests/fsdp/known_faults_test.cpp"},
    {"fsdp/param_name", "tests/fsdp/fsdp_module_test.cpp"},
    {"fsdp/param_states", "tests/fsdp/param_test.cpp"},
    {"fsdp/reduce", "tests/fsdp/param_test.cpp"},
    {"fsdp/release_needed", "tests/fsdp/release_changes_test.cpp"},
    {"fsdp/state_backward", "tests/fsdp/fsdp_module_test.cpp"},
    {"fsdp/state", "tests/fsdp/fsdp_module_test.cpp"},
    {"verify/case_fields", "tests/tools/verify_command_test.cpp"},
    {"verify/case_json", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/case_model", "tests/verify/fsdp/train_test.cpp"},
    {"verify/case_number", "tests/verify/fsdp/train_test.cpp"},
    {"verify/collective_tally", "tests/verify/pytorch/redistribute_test.cpp"},
    {"verify/fsdp/given", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"training/fsdp_plan", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/program", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/program_record", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/read_plan", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/record", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/setters", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"gate/releases_report", "tests/gate/compare_releases_test.cpp"},
    {"gate/gate_device", "tests/gate/gate_expect_test.cpp"},
    {"gate/gate_fault", "tests/gate/gate_file_test.cpp"},
    {"gate/gate_mesh", "tests/gate/gate_file_test.cpp"},
    {"gate/gate_parallel", "tests/gate/gate_file_test.cpp"},
    {"gate/gate_report", "tests/gate/run_gate_test.cpp"},
    {"gate/gate_run", "tests/gate/run_gate_test.cpp"},
    {"training/gather_tally", "tests/gate/gate_expect_test.cpp"},
    {"verify/fsdp/read_program", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"training/run_record", "tests/gate/run_gate_test.cpp"},
    {"core/tensor/scalar_value", "tests/zero/engine_test.cpp"},
    {"training/sharded_training", "tests/fsdp/fully_shard_test.cpp"},
    {"core/check/shell_word", "tests/verify/verify_test.cpp"},
    {"verify/fsdp/counts", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/errors", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/events", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/layout", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/state_dict", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"training/zero_training", "tests/verify/zero/zero_train_test.cpp"},
    {"verify/zero/schedule_case", "tests/verify/zero/zero_schedule_test.cpp"},
    {"verify/zero/schedule_replay", "tests/verify/zero/zero_schedule_test.cpp"},
    {"verify/zero/zero_memory", "tests/verify/zero/zero_schedule_test.cpp"},
    {"zero/collective_record", "tests/zero/known_stage3_faults_test.cpp"},
    {"zero/external_parameters", "tests/zero/stage3_test.cpp"},
    {"zero/fetch_graph", "tests/zero/coordinator_test.cpp"},
    {"zero/fetch_settings", "tests/zero/coordinator_test.cpp"},
    {"zero/fetch_trace", "tests/zero/release_rule_test.cpp"},
    {"zero/gathered_parameters", "tests/zero/stage3_test.cpp"},
    {"zero/gradient_shards", "tests/zero/known_stage3_faults_test.cpp"},
    {"zero/module_hooks", "tests/zero/stage3_swarm_test.cpp"},
    {"zero/module_index", "tests/zero/stage3_test.cpp"},
    {"zero/module_state", "tests/zero/leaf_modules_test.cpp"},
    {"zero/partitioned_param", "tests/zero/param_gather_test.cpp"},
    {"zero/partitioned_params", "tests/zero/param_gather_test.cpp"},
    {"zero/pretty", "tests/zero/event_test.cpp"},
    {"zero/sharded_optimizer", "tests/zero/stage3_test.cpp"},
    {"training/local_engine", "tests/training/zero_swarm_test.cpp"},
    {"training/train", "tests/training/zero_swarm_test.cpp"},
    {"training/training_engine", "tests/training/zero_swarm_test.cpp"},
    {"training/zero_form", "tests/training/zero_swarm_test.cpp"},
    {"zero/config_section", "tests/zero/config_test.cpp"},
    {"zero/config_json", "tests/zero/config_test.cpp"},
    {"zero/config_keys", "tests/zero/config_test.cpp"},
    {"zero/config_value", "tests/zero/config_test.cpp"},
    {"verify/zero/zero_train_check", "tests/verify/zero/zero_train_test.cpp"},
    {"verify/zero/zero_train_task", "tests/verify/zero/zero_train_test.cpp"},
    {"zero/cycle_schedule", "tests/zero/lr_schedule_test.cpp"},
    {"zero/warmup_schedule", "tests/zero/lr_schedule_test.cpp"},
    {"zero/scheduler_keys", "tests/zero/scheduler_json_test.cpp"},
    {"zero/engine_setup", "tests/zero/engine_test.cpp"},
    {"zero/flat_gradients", "tests/zero/flat_stage_test.cpp"},
    {"zero/flat_partition", "tests/zero/flat_stage_test.cpp"},
    {"zero/norm", "tests/zero/flat_stage_test.cpp"},
    {"zero/mean", "tests/zero/flat_stage_test.cpp"},
    {"zero/stage", "tests/zero/flat_stage_test.cpp"},
    {"zero/stage0", "tests/zero/engine_test.cpp"},
    {"zero/tile_offload", "tests/zero/offload_test.cpp"},
    {"sharding/dtensor_creation", "tests/sharding/dtensor_test.cpp"},
    {"sharding/dtensor_redistribute", "tests/sharding/dtensor_test.cpp"},
    {"tools/gate_memory_check", "tests/tools/run_command_test.cpp"},
    {"tools/run_options", "tests/tools/verify_command_test.cpp"},
    {"tools/watched_run", "tests/tools/terminal_test.cpp"},
    {"core/engine/run_checks", "tests/core/engine/crash_report_test.cpp"},
    {"verify/fsdp/read_plan", "tests/verify/fsdp/verify_fsdp_test.cpp"},
};

bool exists(const std::string& path) {
  return std::filesystem::exists(std::filesystem::path(SIMMESH_SOURCE_DIR) / path);
}

bool has_functions(const SourceFile& file) {
  for (const Declaration& declaration : declarations(file))
    if (declaration.kind == DeclarationKind::function) return true;
  return false;
}

std::vector<Finding> untested(const SourceFile& file) {
  if (!file.is_cpp() || !house_row(file.path())) return {};
  std::string concept_path = file.path().substr(0, file.path().rfind('.'));
  if (file.is_header() && (exists(concept_path + ".cpp") || !has_functions(file))) return {};
  auto shared = shared_tests.find(concept_path);
  std::string test = shared == shared_tests.end() ? fmt::format("tests/{}_test.cpp", concept_path)
                                                  : shared->second;
  if (exists(test)) return {};
  return {{file.path(), 0, fmt::format("expected its test in {}", test)}};
}

std::vector<Finding> stale_shares() {
  std::vector<Finding> findings;
  for (const auto& [concept_path, test] : shared_tests) {
    if (!exists(concept_path + ".cpp") && !exists(concept_path + ".h"))
      findings.push_back({concept_path, 0, "shared_tests lists a concept that is gone"});
    if (exists(fmt::format("tests/{}_test.cpp", concept_path)))
      findings.push_back({concept_path, 0, "shared_tests lists a concept that has its own test"});
  }
  return findings;
}

TEST(TestTwins, EveryConceptHasATest) { EXPECT_TRUE(holds_in_tree(untested)); }
TEST(TestTwins, TheTableHoldsNothingStale) { EXPECT_THAT(stale_shares(), IsEmpty()); }

TEST(TestTwins, FiresOnASourceWithoutATest) {
  EXPECT_THAT(untested({"mesh/no_such_concept.cpp", ""}), SizeIs(1));
}

TEST(TestTwins, FiresOnAHeaderWithFunctionsOnly) {
  EXPECT_THAT(untested({"mesh/no_such_concept.h", "inline int f() {\n  return 1;\n}\n"}),
              SizeIs(1));
  EXPECT_THAT(untested({"mesh/no_such_concept.h", "struct A {\n  int x = 0;\n};\n"}), IsEmpty());
}

}  // namespace
}  // namespace simmesh::tidy
