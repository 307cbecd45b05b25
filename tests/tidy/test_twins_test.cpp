#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "tests/tidy/declarations.h"
#include "tests/tidy/house.h"

// Every concept has a test: x/y.cpp, or x/y.h with functions and no x/y.cpp, has
// tests/x/y_test.cpp; python/bindings/bind_y.cpp has tests/python/test_y.py. A family of ops has
// its test in one of the trees of families.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// shared_tests lists the concepts that are tested together with another one, and where.
const std::map<std::string, std::string> shared_tests = {
    {"sharding/parallel/equal_pieces", "tests/sharding/parallel/sequence_parallel_test.cpp"},
    {"sharding/parallel/parallel_style", "tests/sharding/parallel/parallelize_test.cpp"},
    {"verify/pytorch/modules/case_module", "tests/verify/pytorch/modules/module_test.cpp"},
    {"verify/pytorch/modules/case_style", "tests/verify/pytorch/modules/module_test.cpp"},
    {"verify/pytorch/modules/recorded_piece", "tests/verify/pytorch/modules/module_test.cpp"},
    {"verify/pytorch/ops/op_run", "tests/verify/pytorch/ops/op_test.cpp"},
    {"verify/pytorch/ops/op_result", "tests/verify/pytorch/ops/op_test.cpp"},
    {"verify/pytorch/ops/op_compare", "tests/verify/pytorch/ops/op_test.cpp"},
    {"verify/pytorch/ops/op_case", "tests/verify/pytorch/ops/op_test.cpp"},
    {"verify/pytorch/ops/call_arguments", "tests/verify/pytorch/ops/python_functions_test.cpp"},
    {"verify/pytorch/ops/function_forms", "tests/verify/pytorch/ops/python_functions_test.cpp"},
    {"verify/pytorch/ops/list_functions", "tests/verify/pytorch/ops/python_functions_test.cpp"},
    {"verify/pytorch/ops/python_value", "tests/verify/pytorch/ops/python_call_test.cpp"},
    {"collectives/exchange", "tests/collectives/collective_call_test.cpp"},
    {"collectives/fabric", "tests/collectives/collectives_test.cpp"},
    {"collectives/group", "tests/collectives/collectives_test.cpp"},
    {"collectives/mailbox", "tests/collectives/point_to_point_test.cpp"},
    {"collectives/membership", "tests/collectives/collectives_test.cpp"},
    {"collectives/object_board", "tests/collectives/shape_transport_test.cpp"},
    {"collectives/shared_memory_transport", "tests/collectives/collectives_test.cpp"},
    {"collectives/work_state", "tests/collectives/work_test.cpp"},
    {"core/arithmetic/products/exact_product", "tests/core/arithmetic/products/product_test.cpp"},
    {"core/arithmetic/sums/non_finite_terms", "tests/core/arithmetic/sums/digit_sums_test.cpp"},
    {"core/arithmetic/products/packing", "tests/core/arithmetic/products/product_test.cpp"},
    {"core/arithmetic/products/product_request", "tests/core/arithmetic/products/product_test.cpp"},
    {"core/arithmetic/sums/unrounded_sums", "tests/core/arithmetic/unrounded_test.cpp"},
    {"core/autograd/function", "tests/core/autograd/backward_test.cpp"},
    {"core/autograd/node", "tests/core/autograd/backward_test.cpp"},
    {"core/autograd/saved_tensor", "tests/core/autograd/checkpoint_test.cpp"},
    {"core/check/int128", "tests/core/arithmetic/sums/wide_rounding_test.cpp"},
    {"core/clock/device_model", "tests/core/clock/clock_test.cpp"},
    {"core/clock/kernel_launch", "tests/core/tensor/launch_test.cpp"},
    {"core/clock/vector_clock", "tests/core/clock/race_checker_test.cpp"},
    {"core/engine/schedules/activity", "tests/collectives/deadlock_test.cpp"},
    {"core/engine/run/deputy_work", "tests/core/engine/deputy_test.cpp"},
    {"core/engine/run/run_deputies", "tests/core/engine/deputy_test.cpp"},
    {"core/engine/seats/ended_fibers", "tests/core/engine/world_test.cpp"},
    {"core/engine/explore", "tests/collectives/explore_test.cpp"},
    {"core/engine/run/failure_report", "tests/collectives/deadlock_test.cpp"},
    {"core/engine/options/fault", "tests/collectives/fault_test.cpp"},
    {"core/engine/run/fiber_scheduler", "tests/core/engine/world_test.cpp"},
    {"core/engine/seats/fiber_switch", "tests/core/engine/world_test.cpp"},
    {"core/engine/seats/lane", "tests/core/engine/world_test.cpp"},
    {"core/engine/ranks/local_state", "tests/core/engine/ranks/state_map_test.cpp"},
    {"core/engine/reports/outcome", "tests/core/engine/world_test.cpp"},
    {"core/engine/ranks/rank_figures", "tests/core/engine/shapes_only_test.cpp"},
    {"core/release/release_page", "tests/docs/release_changes_test.cpp"},
    {"core/engine/run/run", "tests/core/engine/world_test.cpp"},
    {"core/engine/run/trace_file", "tests/core/engine/reports/run_trace_test.cpp"},
    {"core/engine/run/shared", "tests/collectives/explore_test.cpp"},
    {"core/engine/run/worker", "tests/core/engine/world_test.cpp"},
    {"core/engine/options/world_options", "tests/core/engine/world_test.cpp"},
    {"core/kernels/apply_function_kernels", "tests/core/arithmetic/functions_test.cpp"},
    {"core/kernels/combine_kernels", "tests/core/arithmetic/reductions/combine_test.cpp"},
    {"core/kernels/conversion_kernels", "tests/core/tensor/convert_test.cpp"},
    {"core/kernels/copy_kernels", "tests/core/tensor/strided_copy_test.cpp"},
    {"core/kernels/element_kernels", "tests/core/arithmetic/reductions/combine_test.cpp"},
    {"core/kernels/fold_kernels", "tests/core/arithmetic/reductions/exact_order_test.cpp"},
    {"core/kernels/function_kernels", "tests/core/arithmetic/functions_test.cpp"},
    {"core/kernels/instruction_set", "tests/core/arithmetic/self_check_test.cpp"},
    {"core/kernels/kernels", "tests/core/arithmetic/self_check_test.cpp"},
    {"core/kernels/kernels_avx2", "tests/core/arithmetic/self_check_test.cpp"},
    {"core/kernels/kernels_avx512", "tests/core/arithmetic/self_check_test.cpp"},
    {"core/kernels/kernels_portable", "tests/core/arithmetic/self_check_test.cpp"},
    {"core/kernels/lanes", "tests/core/arithmetic/products/product_test.cpp"},
    {"core/kernels/packing_kernels", "tests/core/arithmetic/products/product_test.cpp"},
    {"core/kernels/pair_function_kernels", "tests/core/arithmetic/functions_test.cpp"},
    {"core/kernels/product_kernels", "tests/core/arithmetic/products/product_test.cpp"},
    {"core/kernels/slice_kernels", "tests/core/arithmetic/products/sliced_product_test.cpp"},
    {"core/kernels/sum_kernels", "tests/core/arithmetic/sums/sums_test.cpp"},
    {"core/kernels/triple_kernels", "tests/core/arithmetic/sums/exact_sums_test.cpp"},
    {"core/kernels/wide_kernels", "tests/core/arithmetic/products/wide_chains_test.cpp"},
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
    {"core/gradients/slopes", "tests/core/gradients/elementwise/pointwise_test.cpp"},
    {"core/gradients/source_gradient", "tests/core/ops/indexing/scatter_reduce_test.cpp"},
    {"core/gradients/normalized_gradient", "tests/core/gradients/neural/losses_test.cpp"},
    {"core/gradients/selected_elements", "tests/core/ops/reductions/running_extremes_test.cpp"},
    {"core/gradients/spread", "tests/core/gradients/reductions/sums_test.cpp"},
    {"core/ops/compute_mode", "tests/core/ops/call_test.cpp"},
    {"core/ops/dim_list", "tests/core/ops/reductions/sums_test.cpp"},
    {"core/ops/kernels/function_op", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/kernels/pointwise_op", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/kernels/unrounded_pointwise", "tests/core/ops/kernels/unrounded_fold_test.cpp"},
    {"core/ops/gradient_call", "tests/core/ops/call_test.cpp"},
    {"core/ops/kernels/block_sums", "tests/core/ops/indexing/scattering_test.cpp"},
    {"core/ops/kernels/places", "tests/core/ops/indexing/gathering_test.cpp"},
    {"core/ops/kernels/scatter_call", "tests/core/ops/indexing/scattering_test.cpp"},
    {"core/ops/kernels/matrix", "tests/core/ops/matrices/products_test.cpp"},
    {"core/ops/kernels/matrix_batch", "tests/core/ops/matrices/linear_algebra_test.cpp"},
    {"core/ops/kernels/matrix_decompositions", "tests/core/ops/matrices/linear_algebra_test.cpp"},
    {"core/ops/kernels/scales", "tests/core/ops/matrices/products_test.cpp"},
    {"core/ops/kernels/singular_values", "tests/core/ops/matrices/spectral_test.cpp"},
    {"core/ops/kernels/normalized_groups", "tests/core/ops/neural/batch_normalization_test.cpp"},
    {"core/ops/kernels/windows", "tests/core/ops/neural/convolution_test.cpp"},
    {"core/ops/number", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/gradients/gradient_table", "tests/core/gradients/gradient_of_test.cpp"},
    {"core/ops/op_list", "tests/core/ops/registry/registry_test.cpp"},
    {"core/samples/sample_list", "tests/core/samples/samples_of_test.cpp"},
    {"sharding/strategies/strategy_table", "tests/sharding/strategies/strategy_of_test.cpp"},
    {"core/ops/promotion", "tests/core/ops/elementwise/pointwise_test.cpp"},
    {"core/ops/functions/default_generator", "tests/core/nn/init_test.cpp"},
    {"core/ops/functions/closeness", "tests/core/ops/reductions/sums_test.cpp"},
    {"core/ops/kernels/folded", "tests/core/ops/reductions/sums_test.cpp"},
    {"core/ops/kernels/reduction_call", "tests/core/ops/reductions/sums_test.cpp"},
    {"core/ops/functions/op_views", "tests/core/ops/shapes/views_test.cpp"},
    {"core/ops/view_arguments", "tests/core/ops/shapes/views_test.cpp"},
    {"core/ops/view_shapes", "tests/core/ops/shapes/views_test.cpp"},
    {"core/optim/adam", "tests/core/optim/optimizer_test.cpp"},
    {"core/optim/clip", "tests/core/optim/schedule_test.cpp"},
    {"core/optim/element_update", "tests/core/optim/optimizer_test.cpp"},
    {"core/optim/ema", "tests/core/optim/optimizer_test.cpp"},
    {"core/optim/learning_rate", "tests/core/optim/schedule_test.cpp"},
    {"core/optim/loss_scaler", "tests/core/optim/schedule_test.cpp"},
    {"core/optim/sgd", "tests/core/optim/optimizer_test.cpp"},
    {"fsdp/param_group/all_gather", "tests/fsdp/fully_shard_test.cpp"},
    {"fsdp/communication/comm_streams", "tests/fsdp/streams_test.cpp"},
    {"fsdp/communication/comm_context", "tests/fsdp/fsdp_module_test.cpp"},
    {"fsdp/param/event", "tests/fsdp/fully_shard_test.cpp"},
    {"fsdp/state/event_fields", "tests/fsdp/fully_shard_test.cpp"},
    {"fsdp/param/gradient_rows", "tests/fsdp/fully_shard_test.cpp"},
    {"fsdp/state/lazy_init", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"fsdp/state_dict/load_source", "tests/fsdp/state_dict/state_dict_test.cpp"},
    {"fsdp/managed", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"fsdp/param/mesh_info", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"fsdp/named_params", "tests/fsdp/state_dict/state_dict_test.cpp"},
    {"fsdp/param/options", "tests/fsdp/fully_shard_test.cpp"},
    {"fsdp/param/param_extension", "tests/fsdp/param/gather_extension_test.cpp"},
    {"fsdp/param/param_gradient", "tests/fsdp/param/param_test.cpp"},
    {"fsdp/param_group/param_group", "tests/fsdp/known_faults_test.cpp"},
    {"fsdp/param_group/param_group_iteration", "tests/fsdp/known_faults_test.cpp"},
    {"fsdp/param/param_name", "tests/fsdp/fsdp_module_test.cpp"},
    {"fsdp/param/param_states", "tests/fsdp/param/param_test.cpp"},
    {"fsdp/param_group/reduce", "tests/fsdp/param/param_test.cpp"},
    {"fsdp/param/release_needed", "tests/fsdp/release_changes_test.cpp"},
    {"fsdp/state/state_backward", "tests/fsdp/fsdp_module_test.cpp"},
    {"fsdp/state/state", "tests/fsdp/fsdp_module_test.cpp"},
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
    {"core/release/release_comparison", "tests/gate/compare_releases_test.cpp"},
    {"gate/tables/device", "tests/gate/checks/device_test.cpp"},
    {"gate/tables/fault", "tests/gate/file_test.cpp"},
    {"gate/tables/mesh", "tests/gate/file_test.cpp"},
    {"gate/tables/parallel", "tests/gate/file_test.cpp"},
    {"gate/report", "tests/gate/run_gate_test.cpp"},
    {"gate/runner", "tests/gate/run_gate_test.cpp"},
    {"training/gather_tally", "tests/gate/checks/unused_gathers_test.cpp"},
    {"verify/fsdp/read_program", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"training/run_record", "tests/gate/run_gate_test.cpp"},
    {"core/tensor/scalar_value", "tests/zero/engine/engine_test.cpp"},
    {"training/sharded_training", "tests/fsdp/fully_shard_test.cpp"},
    {"core/check/shell_word", "tests/verify/verify_test.cpp"},
    {"verify/fsdp/counts", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/errors", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/events", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/layout", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"verify/fsdp/state_dict", "tests/verify/fsdp/verify_fsdp_test.cpp"},
    {"training/zero_training", "tests/verify/zero/train_test.cpp"},
    {"verify/zero/schedule_case", "tests/verify/zero/schedule_test.cpp"},
    {"verify/zero/schedule_replay", "tests/verify/zero/schedule_test.cpp"},
    {"verify/zero/memory", "tests/verify/zero/schedule_test.cpp"},
    {"zero/fetch/collective_record", "tests/zero/known_stage3_faults_test.cpp"},
    {"zero/stage3/external_parameters", "tests/zero/stage3/stage3_test.cpp"},
    {"zero/fetch/fetch_graph", "tests/zero/fetch/coordinator_test.cpp"},
    {"zero/fetch/fetch_trace", "tests/zero/fetch/release_rule_test.cpp"},
    {"zero/stage3/gathered_parameters", "tests/zero/stage3/stage3_test.cpp"},
    {"zero/stage3/gradient_shards", "tests/zero/known_stage3_faults_test.cpp"},
    {"zero/stage3/module_hooks", "tests/zero/stage3_swarm_test.cpp"},
    {"zero/stage3/module_index", "tests/zero/stage3/stage3_test.cpp"},
    {"zero/stage3/module_state", "tests/zero/stage3/leaf_modules_test.cpp"},
    {"zero/stage3/partitioned_param", "tests/zero/stage3/param_gather_test.cpp"},
    {"zero/stage3/partitioned_params", "tests/zero/stage3/param_gather_test.cpp"},
    {"zero/fetch/pretty", "tests/zero/fetch/event_test.cpp"},
    {"zero/stage3/sharded_optimizer", "tests/zero/stage3/stage3_test.cpp"},
    {"training/local_engine", "tests/training/zero_swarm_test.cpp"},
    {"training/train", "tests/training/zero_swarm_test.cpp"},
    {"training/training_engine", "tests/training/zero_swarm_test.cpp"},
    {"training/zero_form", "tests/training/zero_swarm_test.cpp"},
    {"zero/config/config_section", "tests/zero/config/config_test.cpp"},
    {"zero/config/config_json", "tests/zero/config/config_test.cpp"},
    {"zero/config/config_keys", "tests/zero/config/config_test.cpp"},
    {"zero/config/config_value", "tests/zero/config/config_test.cpp"},
    {"verify/zero/train_check", "tests/verify/zero/train_test.cpp"},
    {"verify/zero/train_task", "tests/verify/zero/train_test.cpp"},
    {"zero/config/cycle_schedule", "tests/zero/config/lr_schedule_test.cpp"},
    {"zero/config/warmup_schedule", "tests/zero/config/lr_schedule_test.cpp"},
    {"zero/config/scheduler_keys", "tests/zero/config/scheduler_json_test.cpp"},
    {"zero/engine/engine_setup", "tests/zero/engine/engine_test.cpp"},
    {"zero/stage12/flat_gradients", "tests/zero/stage12/flat_stage_test.cpp"},
    {"zero/stage12/flat_partition", "tests/zero/stage12/flat_stage_test.cpp"},
    {"zero/engine/norm", "tests/zero/stage12/flat_stage_test.cpp"},
    {"zero/engine/mean", "tests/zero/stage12/flat_stage_test.cpp"},
    {"zero/engine/stage", "tests/zero/stage12/flat_stage_test.cpp"},
    {"zero/engine/stage0", "tests/zero/engine/engine_test.cpp"},
    {"zero/stage3/tile_offload", "tests/zero/offload_test.cpp"},
    {"core/samples/elementwise", "tests/core/samples/samples_of_test.cpp"},
    {"core/samples/indexing", "tests/core/samples/samples_of_test.cpp"},
    {"core/samples/matrices", "tests/core/samples/samples_of_test.cpp"},
    {"core/samples/neural", "tests/core/samples/samples_of_test.cpp"},
    {"core/samples/random", "tests/core/samples/samples_of_test.cpp"},
    {"core/samples/reductions", "tests/core/samples/samples_of_test.cpp"},
    {"core/samples/shapes", "tests/core/samples/samples_of_test.cpp"},
    {"sharding/validate/claimed_rules", "tests/sharding/validate/validate_sample_test.cpp"},
    {"sharding/validate/crafted_inputs", "tests/sharding/validate/validate_sample_test.cpp"},
    {"sharding/validate/local_run", "tests/sharding/validate/validate_sample_test.cpp"},
    {"sharding/validate/outputs_difference", "tests/sharding/validate/validate_sample_test.cpp"},
    {"sharding/validate/world_run", "tests/sharding/validate/validate_test.cpp"},
    {"verify/pytorch/ops/rule_files", "tests/verify/pytorch/ops/rule_table_test.cpp"},
    {"sharding/validate/rule_text", "tests/sharding/validate/validate_sample_test.cpp"},
    {"sharding/validate/validate_report", "tests/sharding/validate/validate_test.cpp"},
    {"sharding/api/dtensor_creation", "tests/sharding/dtensor/dtensor_test.cpp"},
    {"sharding/api/dtensor_redistribute", "tests/sharding/dtensor/dtensor_test.cpp"},
    {"tools/command", "tests/tools/main_test.cpp"},
    {"tools/examination", "tests/tools/doctor_command_test.cpp"},
    {"tools/gate_memory_check", "tests/tools/run_command_test.cpp"},
    {"tools/run_options", "tests/tools/verify_command_test.cpp"},
    {"tools/watched_run", "tests/tools/terminal_test.cpp"},
    {"python/bindings/as_rank", "tests/python/test_world.py"},
    {"python/bindings/dims_caster", "tests/python/test_mesh.py"},
    {"python/bindings/dtype_word", "tests/python/test_tensor.py"},
    {"python/bindings/foreign_array", "tests/python/test_tensor.py"},
    {"python/bindings/group_call", "tests/python/test_collectives.py"},
    {"python/bindings/interruptible", "tests/python/test_validate.py"},
    {"python/bindings/mesh_dim", "tests/python/test_mesh.py"},
    {"python/bindings/mesh_shape", "tests/python/test_plan.py"},
    {"python/bindings/module", "tests/python/test_command.py"},
    {"python/bindings/path_list", "tests/python/test_verify.py"},
    {"python/bindings/placement_list", "tests/python/test_plan.py"},
    {"python/bindings/python_run", "tests/python/test_world.py"},
    {"python/bindings/python_site", "tests/python/test_world.py"},
    {"python/bindings/run_words", "tests/python/test_verify.py"},
    {"python/bindings/torch_array", "tests/python/test_torch_collectives.py"},
    {"python/bindings/bind_operations", "tests/python/test_world.py"},
    {"python/bindings/bind_ranks", "tests/python/test_world.py"},
    {"core/engine/run/run_checks", "tests/core/engine/reports/crash_report_test.cpp"},
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

constexpr std::string_view family_trees[] = {"core/ops", "core/gradients", "sharding/strategies",
                                             "verify/pytorch/ops"};

// Returns the concept of a file. A family of ops is one concept in four trees, with the name that
// it has in core/ops.
std::string concept_of(const std::string& path) {
  std::string unit = path.substr(0, path.rfind('.'));
  for (std::string_view tree : family_trees)
    if (is_below(unit, tree) && unit.find('/', tree.size() + 1) != unit.npos)
      return "core/ops" + unit.substr(tree.size());
  return unit;
}

std::string own_test(const std::string& unit) {
  constexpr std::string_view binding = "python/bindings/bind_";
  if (unit.starts_with(binding))
    return fmt::format("tests/python/test_{}.py", unit.substr(binding.size()));
  return fmt::format("tests/{}_test.cpp", unit);
}

bool has_own_test(const std::string& concept_path) {
  if (exists(own_test(concept_path))) return true;
  if (!is_below(concept_path, "core/ops")) return false;
  std::string family = concept_path.substr(std::string_view("core/ops").size());
  return std::any_of(std::begin(family_trees), std::end(family_trees), [&](std::string_view tree) {
    return exists(own_test(std::string(tree) + family));
  });
}

std::vector<Finding> untested(const SourceFile& file) {
  if (!file.is_cpp() || !house_row(file.path())) return {};
  std::string unit = file.path().substr(0, file.path().rfind('.'));
  if (file.is_header() && (exists(unit + ".cpp") || !has_functions(file))) return {};
  std::string concept_path = concept_of(file.path());
  if (has_own_test(concept_path)) return {};
  auto shared = shared_tests.find(concept_path);
  if (shared != shared_tests.end() && exists(shared->second)) return {};
  std::string test = shared == shared_tests.end() ? own_test(concept_path) : shared->second;
  return {{file.path(), 0, fmt::format("expected its test in {}", test)}};
}

std::vector<Finding> stale_shares() {
  std::vector<Finding> findings;
  for (const auto& [concept_path, test] : shared_tests) {
    if (!exists(concept_path + ".cpp") && !exists(concept_path + ".h"))
      findings.push_back({concept_path, 0, "shared_tests lists a concept that is gone"});
    if (concept_of(concept_path + ".h") != concept_path)
      findings.push_back({concept_path, 0, "expected the name that the family has in core/ops"});
    if (has_own_test(concept_path))
      findings.push_back({concept_path, 0, "shared_tests lists a concept that has its own test"});
  }
  return findings;
}

TEST(TestTwins, EveryConceptHasATest) { EXPECT_TRUE(holds_in_tree(untested)); }
TEST(TestTwins, TheTableHoldsNothingStale) { EXPECT_THAT(stale_shares(), IsEmpty()); }

TEST(TestTwins, FiresOnASourceWithoutATest) {
  EXPECT_THAT(untested({"mesh/no_such_concept.cpp", ""}), SizeIs(1));
}

TEST(TestTwins, FiresOnAFamilyWithoutATestInAnyTree) {
  EXPECT_THAT(untested({"core/gradients/shapes/no_such_family.cpp", ""}), SizeIs(1));
  EXPECT_THAT(untested({"core/gradients/reductions/membership.cpp", ""}), IsEmpty());
}

TEST(TestTwins, FiresOnAHeaderWithFunctionsOnly) {
  EXPECT_THAT(untested({"mesh/no_such_concept.h", "inline int f() {\n  return 1;\n}\n"}),
              SizeIs(1));
  EXPECT_THAT(untested({"mesh/no_such_concept.h", "struct A {\n  int x = 0;\n};\n"}), IsEmpty());
}

}  // namespace
}  // namespace simmesh::tidy
