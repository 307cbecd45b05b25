#include "gate/compose/composition_shards.h"

#include <cstdlib>
#include <fmt/format.h>

#include "core/shards/job_result.h"

namespace simmesh {

namespace {

LayoutResult layout_result_from(const JsonValue& value) {
  LayoutResult result;
  read_member(value, "name", result.name);
  if (result.name.empty()) refuse_member(value, "name");
  result.forms = texts_of_member(value, "forms");
  read_member(value, "ranks", result.ranks);
  read_member(value, "mesh", result.mesh);
  read_member(value, "entry", result.entry);
  read_member(value, "tensors", result.tensors);
  read_member(value, "peak_bytes", result.peak_bytes);
  read_member(value, "failure", result.failure);
  read_member(value, "rank", result.rank);
  read_member(value, "first", result.first);
  if (const JsonValue* difference = value.find("difference")) {
    Difference& read = result.difference.emplace();
    read_member(*difference, "where", read.where);
    read_member(*difference, "expected", read.expected);
    read_member(*difference, "got", read.actual);
  }
  return result;
}

}  // namespace

JsonValue to_json(const LayoutResult& result) {
  JsonValue value = JsonValue::object({{"name", result.name},
                                       {"forms", result.forms},
                                       {"ranks", result.ranks},
                                       {"mesh", result.mesh},
                                       {"entry", result.entry},
                                       {"tensors", result.tensors},
                                       {"peak_bytes", result.peak_bytes}});
  if (result.passed()) return value;
  value.set("failure", result.failure);
  value.set("rank", result.rank);
  value.set("first", result.first);
  if (const auto& difference = result.difference)
    value.set("difference", JsonValue::object({{"where", difference->where},
                                               {"expected", difference->expected},
                                               {"got", difference->actual}}));
  return value;
}

JsonValue about_layouts(const Composition& found) {
  // As texts, since JSON has no number for a loss that isn't finite.
  std::vector<std::string> losses, misfits, reasons;
  for (double loss : found.losses) losses.push_back(fmt::format("{}", loss));
  for (const Misfit& misfit : found.misfits) {
    misfits.push_back(misfit.name);
    reasons.push_back(misfit.reason);
  }
  return JsonValue::object({{"file", found.file},
                            {"title", found.title},
                            {"flags", found.flags},
                            {"losses", losses},
                            {"tensors", found.tensors},
                            {"left_out", misfits},
                            {"reasons", reasons}});
}

Composition united_composition(const ShardResults& all) {
  Composition found;
  read_member(all.about, "file", found.file);
  read_member(all.about, "title", found.title);
  read_member(all.about, "flags", found.flags);
  read_member(all.about, "tensors", found.tensors);
  for (const std::string& loss : texts_of_member(all.about, "losses"))
    found.losses.push_back(std::strtod(loss.c_str(), nullptr));
  std::vector<std::string> misfits = texts_of_member(all.about, "left_out");
  std::vector<std::string> reasons = texts_of_member(all.about, "reasons");
  if (misfits.size() != reasons.size()) refuse_member(all.about, "reasons");
  for (std::size_t i = 0; i < misfits.size(); ++i)
    found.misfits.push_back({misfits[i], reasons[i]});
  for (std::uint64_t job = 0; job < all.jobs; ++job)
    found.layouts.push_back(layout_result_from(result_of_job(all, job)));
  name_smallest(found.layouts);
  // A shard looks for the cause of layouts that a smaller one of another shard explains.
  for (LayoutResult& result : found.layouts)
    if (result.smallest != result.name) result.first.clear();
  return found;
}

}  // namespace simmesh
