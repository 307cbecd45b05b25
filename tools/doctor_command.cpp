#include <fmt/core.h>
#include <memory>

#include "core/check/json_value.h"
#include "tools/commands.h"
#include "tools/examination.h"
#include "tools/run_options.h"

namespace simmesh {

void add_doctor_command(CLI::App& program, int& status) {
  auto output = std::make_shared<OutputOptions>();
  CLI::App* app = program.add_subcommand("doctor",
                                         "prints versions, properties of the machine and "
                                         "self-checks of the arithmetic; last line: ok, or "
                                         "what is wrong");
  output->add_to(*app);
  app->callback([output, &status] {
    JsonValue values = JsonValue::object();
    std::string wrong;
    for (const Finding& finding : examine()) {
      values.set(finding.name, finding.value);
      if (!output->json && !output->quiet) fmt::print("{}: {}\n", finding.name, finding.value);
      if (!finding.ok())
        wrong += fmt::format("{}{}: expected {}, got {}", wrong.empty() ? "" : "; ", finding.name,
                             finding.expected, finding.value);
    }
    std::string last = wrong.empty() ? "ok" : "wrong: " + wrong;
    if (output->json) {
      values.set("result", last);
      fmt::print("{}\n", values.text_utf8());
    } else {
      fmt::print("{}\n", last);
    }
    status = wrong.empty() ? 0 : 1;
  });
}

}  // namespace simmesh
