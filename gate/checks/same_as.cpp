#include <algorithm>
#include <fmt/format.h>

#include "core/check/counted.h"
#include "core/check/join_text.h"
#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/explain.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

GateSameAs same_as_word(const std::string& word, const ExpectUse& use) {
  std::int64_t ranks = word == "single_device" ? 1 : use.parallel.parts(use.layout);
  GateSameAs other{.layout = {{ranks}, {"dp"}}, .word = word};
  other.parallel = default_parallel(word, other.layout, use.model);
  other.parallel.checkpoint_blocks = use.parallel.checkpoint_blocks;
  return other;
}

void read_same_as(GateTable& table, const ExpectUse& use, GateExpect& expect) {
  constexpr std::string_view words[] = {"single_device", "replicate", "fsdp", "zero0",
                                        "zero1",         "zero2",     "zero3"};
  for (GateTable::TextOrTable& entry : table.texts_or_tables("same_as")) {
    if (!entry.table &&
        std::find(std::begin(words), std::end(words), entry.text) == std::end(words))
      throw BadGate(entry.place,
                    fmt::format("key 'expect.same_as': expected '{}' or a table with mesh and "
                                "parallel, got '{}'",
                                join_text(words, "', '"), entry.text.substr(0, 40)));
    expect.same_as.push_back(entry.table ? read_other_run(*entry.table, use)
                                         : same_as_word(entry.text, use));
    expect.same_as.back().place = entry.place;
  }
}

void explain_same_as(const GateExpect& expect, TomlTable& table) {
  table.add("same_as", toml_list(expect.same_as, same_as_entry));
}

bool asks_for_same_as(const GateFile& gate) { return !gate.expect.same_as.empty(); }

// Returns the reason for the difference of an unused parameter; empty for any other difference.
std::string reason_of(const GateFile& gate, const Difference& difference) {
  const GateParallel& parallel = gate.parallel;
  bool has_fsdp_zeros = parallel.fsdp && parallel.fsdp->settings.reduces_unused_params;
  if (!difference.is_extra_zeros || (!has_fsdp_zeros && !parallel.zero)) return "";
  return fmt::format(
      "; no rank used this parameter in the step, so one device has no gradient for "
      "it and its optimiser leaves it unchanged, but {}, to which the optimiser "
      "applies weight decay and momentum",
      has_fsdp_zeros ? "reduce_scatter_unused_params reduces zeros"
                     : "ZeRO's buffers of gradients hold zeros");
}

void check_other_run(const OtherRun& other, CheckedRun& checked) {
  std::string name = other.same_as.name();
  const std::string& word = other.same_as.word;
  std::string what = word == "single_device" ? "one device" : "the other run";
  if (!other.run.outcome.ok())
    return checked.add(name, false,
                       "a run " + (word == "single_device" ? "on " + what : "that ends"),
                       ending_of(other.run.outcome));
  for (const RankFindings& found : checked.base.ranks)
    if (const auto& difference = found.differences[other.record])
      return checked.add(name, false, difference->expected,
                         fmt::format("{} on rank {}: {}{}", difference->actual, found.rank,
                                     difference->where, reason_of(checked.gate, *difference)));
  checked.add(name, true, "the bits of " + what,
              fmt::format("the same in {} on each rank",
                          counted(std::int64_t(other.run.ranks[0].record->size()), "tensor")));
}

void check_same_as(CheckedRun& checked) {
  for (const OtherRun& other : checked.others) check_other_run(other, checked);
}

const CheckKind same_as_kind(CheckKind::OfKeys{.keys = {"same_as"},
                                               .after = "",
                                               .needs_data = true,
                                               .reads = read_same_as,
                                               .explains = explain_same_as,
                                               .is_asked = asks_for_same_as,
                                               .runs = check_same_as});

}  // namespace

}  // namespace simmesh
