#include "pipeline/schedule/action.h"

#include <fmt/format.h>

#include "core/check/join_text.h"
#include "verify/case_kind.h"
#include "verify/pipeline/case_raises.h"

namespace simmesh {

namespace {

using pipeline::Action;

Schema parsed_action_schema() {
  using namespace schema;
  return named("action", [] {
    return object({expected("stage", integer()), expected("action", text()),
                   expected("microbatch", or_null(integer())),
                   expected("parts", or_null(list(parsed_action_schema())))});
  });
}

Schema pipeline_action_schema() {
  using namespace schema;
  return object_of(
      {{"raises", {required("text", any_text()), expected("raises", raises_schema())}},
       {"parsed",
        {required("text", any_text()), expected("parsed", or_null(parsed_action_schema())),
         expected("printed", text()).or_absent("an idle slot prints nothing"),
         expected("compute", flag()).or_absent("an idle slot is no action")}}});
}

// Texts of all that is known of an action, as the case and as we have it.
std::string action_details(const Action& action) {
  std::vector<std::string> parts;
  for (const Action& part : action.parts) parts.push_back(action_details(part));
  return fmt::format("stage {}, kind {}, micro-batch {}, parts {}", action.stage,
                     to_string(action.kind),
                     action.microbatch ? std::to_string(*action.microbatch) : "none",
                     parts.empty() ? "none" : fmt::format("[{}]", join_text(parts, "; ")));
}

std::string action_details(const CaseField& parsed) {
  std::vector<std::string> parts;
  if (!parsed["parts"].is_null())
    for (const CaseField& part : parsed["parts"].items()) parts.push_back(action_details(part));
  CaseField microbatch = parsed["microbatch"];
  return fmt::format("stage {}, kind {}, micro-batch {}, parts {}", parsed["stage"].integer(),
                     parsed["action"].text(),
                     microbatch.is_null() ? "none" : std::to_string(microbatch.integer()),
                     parts.empty() ? "none" : fmt::format("[{}]", join_text(parts, "; ")));
}

void verify_pipeline_action(const RecordedCase& recorded, const VerifyOptions&,
                            CaseReport& report) {
  std::string text = recorded["text"].text();
  if (auto raises = recorded.find("raises"))
    return expect_raises(report, "reading", *raises, [&] { Action::parse(text); });
  Action action = Action::parse(text);
  CaseField parsed = recorded["parsed"];
  if (!report.expect_equal("idle", parsed.is_null(), action.is_idle()) || action.is_idle()) return;
  report.expect_equal("parsed", action_details(parsed), action_details(action));
  if (auto printed = recorded.find("printed"))
    report.expect_equal("printed", printed->text(), to_string(action));
  if (auto computes = recorded.find("compute"))
    report.expect_equal("compute", computes->boolean(), is_compute(action.kind));
}

const CaseKind pipeline_action_kind(
    {.name = "pipeline_action",
     .summary = "an action of a pipeline schedule, read and printed",
     .schema = pipeline_action_schema,
     .verifier = verify_pipeline_action});

}  // namespace

}  // namespace simmesh
