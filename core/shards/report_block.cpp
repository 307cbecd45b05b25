#include "core/shards/report_block.h"

#include "core/check/error.h"
#include "core/shards/job_result.h"

namespace simmesh {

namespace {

ReportBlock block_from(const JsonValue& value) {
  auto refuse = [&] {
    raise(ErrorKind::value_error, "core/shards", "expected what is printed of a job, got {}",
          value.text(80));
  };
  ReportBlock block;
  const JsonValue *text = value.find("text"), *json = value.find("json"),
                  *counts = value.find("counts");
  if (!text || !text->get<std::string>() || !json || !json->get<std::string>() || !counts ||
      !counts->get<JsonValue::Object>())
    refuse();
  block.text = *text->get<std::string>();
  block.json = *json->get<std::string>();
  for (const auto& [name, count] : *counts->get<JsonValue::Object>()) {
    const auto* number = count.get<std::int64_t>();
    if (!number || *number < 0) refuse();
    block.counts.emplace(name, *number);
  }
  return block;
}

}  // namespace

JsonValue to_json(const ReportBlock& block) {
  JsonValue::Object counts(block.counts.begin(), block.counts.end());
  return JsonValue::object(
      {{"text", block.text}, {"json", block.json}, {"counts", std::move(counts)}});
}

std::vector<ReportBlock> report_blocks(const ShardResults& all) {
  std::vector<ReportBlock> blocks;
  for (std::uint64_t job = 0; job < all.jobs; ++job)
    blocks.push_back(block_from(result_of_job(all, job)));
  return blocks;
}

std::uint64_t count_over(gsl::span<const ReportBlock> blocks, const std::string& name) {
  std::uint64_t sum = 0;
  for (const ReportBlock& block : blocks) {
    auto found = block.counts.find(name);
    sum += found == block.counts.end() ? 0 : found->second;
  }
  return sum;
}

std::string join_json(gsl::span<const ReportBlock> blocks) {
  std::string text;
  for (const ReportBlock& block : blocks) {
    if (!text.empty()) text += ',';
    text += block.json;
  }
  return text;
}

}  // namespace simmesh
