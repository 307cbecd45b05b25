#pragma once

#include "training/training.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// node_schema is a tree of model nodes; optimizer_schema is the schema of read_optimizer.
Schema node_schema();
Schema optimizer_schema();

// pipeline_model_schema is a sequential, of nodes that pipelines have too: see
// verify/pipeline/stage_modules.h.
Schema pipeline_model_schema();

// model_fields are the fields that read_model reads.
schema::Fields model_fields();

// read_node reads a tree of model nodes.
nn::ModelNode read_node(const CaseField& field);

// read_model reads dtype, model, params, tied and frozen of a case.
TrainingModel read_model(const RecordedCase& recorded);

// require_parameters raises a BadCase that blames `field` where the parameters of a case aren't
// those of its modules, in the order in which they are registered. Bound the sizes first (see
// require_work).
void require_parameters(const CaseField& field, const TrainingModel& model);

// read_optimizer reads {"name": "sgd" | "adam" | "adamw", ...}.
OptimizerSpec read_optimizer(const CaseField& field);

// read_adam reads lr, betas, eps and weight_decay, which is 0 where it is missing.
AdamSpec read_adam(const CaseField& field, optim::WeightDecay decay);

// number_or reads a number that a case may leave out.
double number_or(const CaseField& field, std::string_view name, double otherwise);

}  // namespace simmesh
