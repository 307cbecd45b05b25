#pragma once

#include <string>
#include <string_view>

#include "pipeline/lowering/lower.h"
#include "verify/case_report.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// row_schema is a row of actions, rows_schema a list of them, stage_ranks_schema a list of the
// ranks of stages.
Schema row_schema();
Schema rows_schema();
Schema stage_ranks_schema();

// read_rows reads a list of rows.
pipeline::Rows read_rows(const CaseField& field);
// row_texts returns rows as a case has them.
std::vector<std::string> row_texts(const pipeline::Rows& rows);

// text_hash returns the hash that cases hold of a text: FNV-1a, 16 hex digits.
std::string text_hash(std::string_view text);

// pipeline_shape_fields are ranks, stages_per_rank and microbatches with their bounds.
schema::Fields pipeline_shape_fields();
// read_shape reads them. Raises a BadCase for a pipeline of more than 2^14 stages times
// micro-batches.
pipeline::ScheduleShape read_shape(const CaseField& fields);

// pipeline_options_schema is the arguments of a constructor, of which absent ones have their
// defaults; read_pipeline_options reads them.
Schema pipeline_options_schema();
pipeline::ScheduleOptions read_pipeline_options(const CaseField& field);

// microbatches_schema and stages_schema are bounded numbers.
Schema microbatches_schema();
Schema stages_schema();

}  // namespace simmesh
