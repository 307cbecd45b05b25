#include "sharding/validate/validate_page.h"

#include <fmt/format.h>

#include "core/page/sections.h"
#include "sharding/validate/validate_report.h"

namespace simmesh {

PageReport validate_page(const ValidateResult& result, const ValidateRequest& request,
                         const std::string& command) {
  JsonValue::List rows, details;
  for (const OpVerdict& op : result.ops) {
    ReportBlock block = op_block(op, request.options);
    auto count = [&](const char* name) { return block.counts[name]; };
    rows.emplace_back(JsonValue::List{count("wrong") == 0 ? "pass" : "FAIL", op.op, count("rules"),
                                      count("wrong"), count("missing"), count("combinations")});
    if (count("wrong") + count("missing") > 0) details.push_back(text_section(op.op, block.text));
  }
  ReportEntry entry{.name = "Sharding rules", .passed = result.ok()};
  entry.sections.push_back(table_section(
      "Ops", {"", "op", "rules", "wrong", "missing", "combinations tried"}, std::move(rows)));
  entry.sections.insert(entry.sections.end(), details.begin(), details.end());
  PageReport report{.title = "simmesh validate",
                    .summary = fmt::format("{} rules, {} wrong, {} missing", result.counts().rules,
                                           result.counts().wrong, result.counts().missing),
                    .passed = result.ok(),
                    .command = command};
  report.add(std::move(entry));
  return report;
}

}  // namespace simmesh
