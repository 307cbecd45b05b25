#include "zero/engine/estimate.h"

#include "verify/case_kind.h"

namespace simmesh {

namespace {

Schema zero_estimate_schema() {
  using namespace schema;
  Schema count = integer({.min = 0, .max = std::int64_t(1) << 48});
  Schema devices = integer({.min = 1, .max = 1 << 24});
  Field stage = required("stage", integer({.min = 2, .max = 3}));
  return object(
      {stage, required("total_params", count), optional("largest_layer_params", count),
       required("gpus_per_node", devices), required("nodes", devices),
       required("offload_optimizer", flag()), optional("offload_params", flag()),
       optional("zero_init", flag()), required("factor", number_in(0.0, 1e6)),
       expected("expect",
                object({expected("host_bytes", integer()), expected("device_bytes", integer()),
                        expected("largest_layer_bytes", integer()).or_absent()}))});
}

zero::EstimateOptions read_options(const RecordedCase& recorded) {
  zero::EstimateOptions options{.total_params = recorded["total_params"].integer(),
                                .gpus_per_node = recorded["gpus_per_node"].integer(),
                                .nodes = recorded["nodes"].integer(),
                                .offload_optimizer = recorded["offload_optimizer"].boolean(),
                                .factor = recorded["factor"].number()};
  if (auto largest = recorded.find("largest_layer_params"))
    options.largest_layer_params = largest->integer();
  if (auto offload = recorded.find("offload_params")) options.offload_params = offload->boolean();
  if (auto init = recorded.find("zero_init")) options.zero_init = init->boolean();
  return options;
}

void verify_zero_estimate(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  bool is_sharded = recorded["stage"].integer() == 3;
  for (const char* name : {"largest_layer_params", "offload_params", "zero_init"})
    if (recorded.has(name) != is_sharded)
      recorded.root().reject(fmt::format("{} in stage 3, and in no other", name));
  zero::EstimateOptions options = read_options(recorded);
  zero::MemoryEstimate estimate = is_sharded ? zero::estimate_zero3_model_states_mem_needs(options)
                                             : zero::estimate_zero2_model_states_mem_needs(options);
  CaseField expect = recorded["expect"];
  report.expect_equal("host_bytes", expect["host_bytes"].integer(), estimate.host_bytes);
  report.expect_equal("device_bytes", expect["device_bytes"].integer(), estimate.device_bytes);
  auto largest = expect.find("largest_layer_bytes");
  if (report.expect_equal("has largest_layer_bytes", largest.has_value(), is_sharded) && largest)
    report.expect_equal("largest_layer_bytes", largest->integer(), estimate.largest_layer_bytes);
  for (std::int64_t bytes :
       {estimate.host_bytes, estimate.device_bytes, estimate.largest_layer_bytes})
    report.fold_data(std::uint64_t(bytes));
}

const CaseKind zero_estimate_kind(
    {.name = "zero_estimate",
     .summary = "bytes of the host and of a device by the published estimators",
     .schema = zero_estimate_schema,
     .verifier = verify_zero_estimate});

}  // namespace

}  // namespace simmesh
