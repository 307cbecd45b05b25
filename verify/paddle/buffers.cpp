#include <fmt/ranges.h>

#include "checkpoint/paddle/sharding_buffers.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"

namespace simmesh {

namespace {

using checkpoint::BufferSlice;

constexpr std::int64_t buffer_ranks_max = 1 << 12;

Schema paddle_buffers_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  Schema ranges = list(tuple({count, count}));
  Field shapes = required("shapes", list(shape_schema()));
  Field dtype = required("dtype", dtype_schema());
  Field degree = required("degree", integer({.min = 1, .max = buffer_ranks_max}));
  return object_by(
      "what",
      {{"v2_reduce_scatter",
        {dtype, degree, expected("buffer_numel", count), expected("index", list(count)),
         expected("padded", list(count)),
         expected("slices", list(list(or_null(tuple({count, count, count})))))}},
       {"flatten", {dtype, expected("buffer_numel", count), expected("offset", list(count))}},
       {"bucket",
        {dtype, required("limit_bytes", integer({.min = 1})),
         expected("groups", list(list(count)))}},
       {"v1_owner", {degree, expected("owned", list(list(count)))}},
       {"fused_states",
        {expected("buffer_numel", count),
         expected("accumulators",
                  object({expected("moment1", ranges), expected("moment2", ranges),
                          expected("beta1_pow_acc", ranges), expected("beta2_pow_acc", ranges)})),
         expected("master", ranges)}}},
      {shapes});
}

using Indices = std::vector<std::vector<std::size_t>>;

void compare_indices(std::string_view what, const CaseField& field, const Indices& actual,
                     CaseReport& report) {
  Indices recorded;
  for (const CaseField& entry : field.items()) {
    recorded.emplace_back();
    for (std::int64_t index : entry.integers()) recorded.back().push_back(std::size_t(index));
  }
  report.expect_equal(what, recorded, actual);
}

void compare_ranges(std::string_view what, const CaseField& field,
                    const std::vector<checkpoint::FusedStates::Range>& actual, CaseReport& report) {
  std::vector<checkpoint::FusedStates::Range> recorded;
  for (const CaseField& entry : field.items())
    recorded.emplace_back(entry.integers()[0], entry.integers()[1]);
  report.expect_equal(what, recorded, actual);
}

void compare_reduce_scatter(const RecordedCase& recorded, gsl::span<const std::int64_t> numels,
                            CaseReport& report) {
  auto buffer = checkpoint::reduce_scatter_buffer(
      numels, dtype_from_string(recorded["dtype"].text()), recorded["degree"].integer());
  report.expect_equal("buffer_numel", recorded["buffer_numel"].integer(), buffer.numel);
  report.expect_equal("index", recorded["index"].integers(), buffer.index);
  report.expect_equal("padded", recorded["padded"].integers(), buffer.padded);
  std::vector<CaseField> ranks = recorded["slices"].items();
  if (!report.expect_equal("number of ranks", ranks.size(), buffer.slices.size())) return;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<CaseField> slices = ranks[rank].items();
    if (!report.expect_equal("number of slices", slices.size(), numels.size())) return;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      std::string who = fmt::format("rank {}: parameter {}", rank, i);
      std::optional<BufferSlice> expected;
      if (!slices[i].is_null()) {
        std::vector<std::int64_t> numbers = slices[i].integers();
        expected = BufferSlice{numbers[0], numbers[1], numbers[2]};
      }
      if (expected != buffer.slices[rank][i]) report.mismatch(who + ": another slice");
    }
  }
}

void verify_paddle_buffers(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  std::vector<std::int64_t> numels;
  for (const CaseField& shape : recorded["shapes"].items()) numels.push_back(numel(shape.shape()));
  std::string what = recorded["what"].text();
  if (what == "v2_reduce_scatter") {
    compare_reduce_scatter(recorded, numels, report);
  } else if (what == "flatten") {
    auto buffer = checkpoint::flat_buffer(numels, dtype_from_string(recorded["dtype"].text()));
    report.expect_equal("buffer_numel", recorded["buffer_numel"].integer(), buffer.numel);
    report.expect_equal("offset", recorded["offset"].integers(), buffer.offset);
  } else if (what == "bucket") {
    compare_indices("groups", recorded["groups"],
                    checkpoint::bucket_groups(numels, dtype_from_string(recorded["dtype"].text()),
                                              recorded["limit_bytes"].integer()),
                    report);
  } else if (what == "v1_owner") {
    compare_indices("owned", recorded["owned"],
                    checkpoint::whole_parameter_owners(numels, recorded["degree"].integer()),
                    report);
  } else {
    auto states = checkpoint::fused_states(numels);
    report.expect_equal("buffer_numel", recorded["buffer_numel"].integer(), states.numel);
    CaseField accumulators = recorded["accumulators"];
    compare_ranges("moment1", accumulators["moment1"], states.moment1, report);
    compare_ranges("moment2", accumulators["moment2"], states.moment2, report);
    compare_ranges("beta1_pow_acc", accumulators["beta1_pow_acc"], states.beta1_pow_acc, report);
    compare_ranges("beta2_pow_acc", accumulators["beta2_pow_acc"], states.beta2_pow_acc, report);
    compare_ranges("master", recorded["master"], states.master, report);
  }
}

const CaseKind paddle_buffers_kind({.name = "paddle_sharding_buffers",
                                    .summary = "how flat buffers of a sharding stage are laid out",
                                    .schema = paddle_buffers_schema,
                                    .verifier = verify_paddle_buffers});

}  // namespace

}  // namespace simmesh
