#include "verify/pytorch/modules/case_style.h"

#include "sharding/parallel/colwise_parallel.h"
#include "sharding/parallel/prepare_module.h"
#include "sharding/parallel/rowwise_parallel.h"
#include "sharding/parallel/sequence_parallel.h"

namespace simmesh {

namespace {

Schema one_placement() {
  return schema::spelled("a placement", [](const std::string& text) {
    parse_placement(text);
    return true;
  });
}

schema::Fields layer_fields() {
  using namespace schema;
  return {optional("input_layouts", one_placement()), optional("output_layouts", one_placement()),
          optional("use_local_output", flag())};
}

// PyTorch treats one placement as a list of one.
Schema layouts() {
  return schema::either({one_placement(), schema::list(schema::or_null(one_placement()))});
}

Layouts read_layouts(const CaseField& field) {
  if (field.is_text()) return {parse_placement(field.text())};
  Layouts result;
  for (const CaseField& entry : field.items())
    result.push_back(entry.is_null() ? std::nullopt : std::optional(parse_placement(entry.text())));
  return result;
}

template <class Style>
Style read_layer(const CaseField& field) {
  Style style;
  if (auto layout = field.find("input_layouts"))
    style.input_layout = parse_placement(layout->text());
  if (auto layout = field.find("output_layouts"))
    style.output_layout = parse_placement(layout->text());
  if (auto local = field.find("use_local_output")) style.use_local_output = local->boolean();
  return style;
}

bool flag_or(const CaseField& field, std::string_view name, bool otherwise) {
  auto found = field.find(name);
  return found ? found->boolean() : otherwise;
}

}  // namespace

Schema style_schema() {
  using namespace schema;
  return object_by(
      "style",
      {{"ColwiseParallel", layer_fields()},
       {"RowwiseParallel", layer_fields()},
       {"SequenceParallel",
        {optional("sequence_dim", integer({-32, 31})), optional("use_local_output", flag())}},
       {"PrepareModuleInput",
        {required("input_layouts", layouts()), required("desired_input_layouts", layouts()),
         optional("use_local_output", flag())}},
       {"PrepareModuleOutput",
        {required("output_layouts", layouts()), required("desired_output_layouts", layouts()),
         optional("use_local_output", flag())}}});
}

ParallelStyle read_style(const CaseField& field) {
  std::string style = field["style"].text();
  if (style == "ColwiseParallel") return read_layer<ColwiseParallel>(field);
  if (style == "RowwiseParallel") return read_layer<RowwiseParallel>(field);
  if (style == "SequenceParallel") {
    auto dim = field.find("sequence_dim");
    return SequenceParallel{.sequence_dim = dim ? dim->integer() : 1,
                            .use_local_output = flag_or(field, "use_local_output", false)};
  }
  if (style == "PrepareModuleInput")
    return PrepareModuleInput{.input_layouts = read_layouts(field["input_layouts"]),
                              .desired_input_layouts = read_layouts(field["desired_input_layouts"]),
                              .use_local_output = flag_or(field, "use_local_output", false)};
  return PrepareModuleOutput{
      .output_layouts = read_layouts(field["output_layouts"]),
      .desired_output_layouts = read_layouts(field["desired_output_layouts"]),
      .use_local_output = flag_or(field, "use_local_output", true)};
}

ParallelizePlan read_plan(const CaseField& field) {
  ParallelizePlan plan;
  for (const std::string& path : field.keys())
    if (!path.empty()) plan.emplace_back(path, read_style(field[path]));
  if (field.has("")) plan.emplace_back("", read_style(field[""]));
  return plan;
}

}  // namespace simmesh
