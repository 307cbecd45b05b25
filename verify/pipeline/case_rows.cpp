#include "verify/pipeline/case_rows.h"

#include "verify/case_bits.h"

namespace simmesh {

namespace {

constexpr std::int64_t ranks_max = 1 << 10;
constexpr std::int64_t actions_max = 1 << 14;  // stages times micro-batches

}  // namespace

Schema row_schema() {
  return schema::spelled("row of actions, such as 0F0,,0B0", [](const std::string& text) {
    pipeline::parse_row(text);
    return true;
  });
}

Schema rows_schema() { return schema::list(row_schema(), {.max = ranks_max}); }

Schema stage_ranks_schema() {
  return schema::list(schema::integer({.min = 0, .max = ranks_max - 1}), {.max = ranks_max});
}

Schema microbatches_schema() { return schema::integer({.min = 1, .max = actions_max}); }
Schema stages_schema() { return schema::integer({.min = 1, .max = ranks_max}); }

pipeline::Rows read_rows(const CaseField& field) {
  pipeline::Rows rows;
  for (const CaseField& row : field.items()) rows.push_back(pipeline::parse_row(row.text()));
  return rows;
}

std::vector<std::string> row_texts(const pipeline::Rows& rows) {
  std::vector<std::string> texts;
  for (const pipeline::Row& row : rows) texts.push_back(pipeline::to_string(row));
  return texts;
}

std::string text_hash(std::string_view text) {
  return bits_text(gsl::span(reinterpret_cast<const std::byte*>(text.data()), text.size()));
}

schema::Fields pipeline_shape_fields() {
  using namespace schema;
  return {required("ranks", integer({.min = 1, .max = ranks_max})),
          required("stages_per_rank", stages_schema()),
          required("microbatches", microbatches_schema())};
}

pipeline::ScheduleShape read_shape(const CaseField& fields) {
  pipeline::ScheduleShape shape{.ranks = fields["ranks"].integer(),
                                .stages_per_rank = fields["stages_per_rank"].integer(),
                                .microbatches = fields["microbatches"].integer()};
  if (shape.stages() * shape.microbatches > actions_max)
    fields["microbatches"].reject(
        fmt::format("at most {} stages times micro-batches", actions_max));
  return shape;
}

Schema pipeline_options_schema() {
  using namespace schema;
  Schema lookahead = either({text(), integer(), list(integer(), {.max = ranks_max})});
  return object({optional("defer_pp_recv", flag()), optional("max_active_stages", integer()),
                 optional("unshard_lookahead", lookahead),
                 optional("defer_reduce_grad_wait", flag()),
                 optional("max_outstanding_sends", or_null(integer()))});
}

pipeline::ScheduleOptions read_pipeline_options(const CaseField& field) {
  pipeline::ScheduleOptions options;
  if (auto defers = field.find("defer_pp_recv")) options.defer_pp_recv = defers->boolean();
  if (auto active = field.find("max_active_stages")) options.max_active_stages = active->integer();
  if (auto lookahead = field.find("unshard_lookahead")) {
    if (lookahead->is_list())
      options.unshard_lookahead = lookahead->integers();
    else  // a number is no word either
      options.unshard_lookahead =
          lookahead->is_integer() ? std::to_string(lookahead->integer()) : lookahead->text();
  }
  if (auto defers = field.find("defer_reduce_grad_wait"))
    options.defer_reduce_grad_wait = defers->boolean();
  if (auto sends = field.find("max_outstanding_sends"); sends && !sends->is_null())
    options.max_outstanding_sends = sends->integer();
  return options;
}

}  // namespace simmesh
