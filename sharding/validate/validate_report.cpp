#include "sharding/validate/validate_report.h"

#include <fmt/format.h>

#include "core/check/append_text.h"

namespace simmesh {

namespace {

using Rules = std::map<std::string, RuleVerdict>;

class Report {
 public:
  explicit Report(const ValidateRequest& request) : request_(request) {}

  void add(const OpVerdict& op) {
    std::uint64_t rules = 0, wrong = 0, missing = 0;
    for (const SampleVerdict& sample : op.samples) {
      rules += sample.rules.size();
      missing += sample.missing.size();
      for (const Rules* list : {&sample.rules, &sample.over_two_dims})
        for (const auto& [text, verdict] : *list) wrong += verdict.wrong.has_value();
    }
    line("{} {} ({}): {} rules of {} calls, {} wrong, {} missing", wrong ? "FAIL" : "pass", op.op,
         to_string(op.way), rules, op.samples.size(), wrong, missing);
    for (const SampleVerdict& sample : op.samples) {
      add_wrong(sample.call, sample.rules);
      add_wrong(sample.call, sample.over_two_dims);
      for (const std::string& rule : sample.missing) line("  missing {}: {}", sample.call, rule);
    }
    if (wrong) line("  {}", reproduce_line(op.op, request_.options));
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

  const ValidateRequest& request_;
  std::string text_;
};

}  // namespace

std::string reproduce_line(const std::string& op, const ValidateOptions& options) {
  return fmt::format("reproduce: simmesh validate {} --seed {}", op, options.seed);
}

std::string to_text(const ValidateResult& result, const ValidateRequest& request, bool quiet) {
  Report report(request);
  if (!quiet)
    for (const OpVerdict& op : result.ops) report.add(op);
  return report.take() + fmt::format("{} rules, {} wrong, {} missing\n", result.rule_count(),
                                     result.wrong_count(), result.missing_count());
}

}  // namespace simmesh
