#include "replay/job/found_files.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/counted.h"
#include "core/check/join_text.h"
#include "replay/job/trace_resource.h"
#include "replay/read/trace_form.h"
#include "replay/read/unpack.h"

namespace simmesh::replay {

namespace {

constexpr std::size_t names_shown_max = 3;

void look_at_file(ByteSource& source, const std::string& path, FoundFiles& found) {
  if (is_resource(source.name())) return;
  bool is_named = source.name() == path;
  auto is_of = [&](std::initializer_list<TraceForm> forms) {
    return is_of_form(source, path, forms);
  };
  if (is_of({TraceForm::timeline}))
    found.has_timelines = true;
  else if (is_of({TraceForm::chakra, TraceForm::chakra_json}))
    found.has_chakra = true;
  else if (is_of({TraceForm::execution_trace, TraceForm::unknown}) || is_named)
    found.has_traces = true;
  else
    found.left_out.push_back(source.name());
}

}  // namespace

FoundFiles find_files(gsl::span<const std::string> paths) {
  FoundFiles found;
  for (const std::string& path : paths)
    for_each_file(path, [&](ByteSource& source) { look_at_file(source, path, found); });
  return found;
}

std::string left_out_words(const std::vector<std::string>& left_out) {
  if (left_out.empty()) return "";
  std::size_t shown = std::min(left_out.size(), names_shown_max);
  gsl::span<const std::string> names(left_out.data(), shown);
  bool is_one = left_out.size() == 1;
  return fmt::format("{} that {} left out: {}{}", counted(std::int64_t(left_out.size()), "file"),
                     is_one ? "is no trace is" : "are no traces are", join_text(names, ", "),
                     shown < left_out.size() ? ", ..." : "");
}

}  // namespace simmesh::replay
