#include "sharding/validate/validate_report.h"

#include <fmt/format.h>

#include "core/check/append_text.h"
#include "core/check/json_value.h"

namespace simmesh {

namespace {

using Rules = std::map<std::string, RuleVerdict>;

class Report {
 public:
  explicit Report(const ValidateOptions& options) : options_(options) {}

  void add(const OpVerdict& op) {
    RuleCounts counts = op.counts();
    line("{} {} ({}): {} rules of {} calls, {} wrong, {} missing", counts.wrong ? "FAIL" : "pass",
         op.op, to_string(op.way), counts.rules, op.samples.size(), counts.wrong, counts.missing);
    for (const SampleVerdict& sample : op.samples) {
      add_wrong(sample.call, sample.rules);
      add_wrong(sample.call, sample.over_two_dims);
      for (const std::string& rule : sample.missing) line("  missing {}: {}", sample.call, rule);
    }
    if (counts.wrong) line("  {}", reproduce_line(op.op, options_));
  }

  std::string take() { return std::move(text_); }

 private:
  void add_wrong(const std::string& call, const Rules& rules) {
    for (const auto& [text, verdict] : rules) {
      if (!verdict.wrong) continue;
      line("  wrong {}: {}", call, text);
      line("    on a mesh {} with {}: {}", verdict.wrong->mesh, verdict.wrong->inputs,
           verdict.wrong->what);
    }
  }

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    append_text(text_, format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  const ValidateOptions& options_;
  std::string text_;
};

JsonValue json_of(const std::map<std::string, RuleVerdict>& rules) {
  JsonValue::List list;
  for (const auto& [text, verdict] : rules) {
    JsonValue::Object rule{
        {"rule", text}, {"trials", verdict.trials}, {"gradients", verdict.has_gradient}};
    if (verdict.wrong)
      rule.emplace_back("wrong", JsonValue::object({{"mesh", verdict.wrong->mesh},
                                                    {"inputs", verdict.wrong->inputs},
                                                    {"what", verdict.wrong->what}}));
    list.push_back(std::move(rule));
  }
  return list;
}

JsonValue json_of(const OpVerdict& op) {
  JsonValue::List calls;
  for (const SampleVerdict& sample : op.samples)
    calls.push_back(JsonValue::object({{"call", sample.call},
                                       {"trials", sample.trials},
                                       {"combinations", sample.combinations},
                                       {"rules", json_of(sample.rules)},
                                       {"wrong_over_two_dims", json_of(sample.over_two_dims)},
                                       {"missing", sample.missing}}));
  return JsonValue::object(
      {{"op", op.op}, {"way", to_string(op.way)}, {"calls", std::move(calls)}});
}

}  // namespace

std::string reproduce_line(const std::string& op, const ValidateOptions& options) {
  return fmt::format("reproduce: simmesh validate {} --seed {}", op, options.seed);
}

ReportBlock op_block(const OpVerdict& op, const ValidateOptions& options) {
  Report report(options);
  RuleCounts counts = op.counts();
  report.add(op);
  return {.text = report.take(),
          .json = json_of(op).text_utf8(),
          .counts = {{"rules", counts.rules},
                     {"wrong", counts.wrong},
                     {"missing", counts.missing},
                     {"combinations", counts.combinations}}};
}

std::vector<ReportBlock> op_blocks(const ValidateResult& result, const ValidateOptions& options) {
  std::vector<ReportBlock> blocks;
  for (const OpVerdict& op : result.ops) blocks.push_back(op_block(op, options));
  return blocks;
}

std::string to_text(const ValidateResult& result, const ValidateRequest& request, bool quiet) {
  return text_of_ops(op_blocks(result, request.options), quiet);
}

std::string text_of_ops(gsl::span<const ReportBlock> ops, bool quiet) {
  std::string text;
  if (!quiet)
    for (const ReportBlock& op : ops) text += op.text;
  return text + fmt::format("{} rules, {} wrong, {} missing\n", count_over(ops, "rules"),
                            count_over(ops, "wrong"), count_over(ops, "missing"));
}

std::string to_json(const ValidateResult& result, const ValidateRequest& request) {
  return json_of_ops(op_blocks(result, request.options));
}

std::string json_of_ops(gsl::span<const ReportBlock> ops) {
  std::string text = "{\"ops\":[" + join_json(ops) + "]";
  for (const char* name : {"combinations", "rules", "wrong", "missing"})
    append_text(text, ",\"{}\":{}", name, count_over(ops, name));
  return text + "}\n";
}

}  // namespace simmesh
