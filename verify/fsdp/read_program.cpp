#include "verify/fsdp/read_program.h"

#include <nlohmann/json.hpp>

#include "verify/fsdp/read_plan.h"

namespace simmesh {

namespace {

constexpr std::string_view acts[] = {"forward",
                                     "backward",
                                     "set",
                                     "set_prefetch",
                                     "unshard",
                                     "reshard",
                                     "wait_handle",
                                     "zero_grad",
                                     "optim_step",
                                     "state_dict",
                                     "share_comm_ctx",
                                     "reset_iter_state",
                                     "set_requires_grad",
                                     "deepcopy",
                                     "set_all_reduce_hook",
                                     "register_forward_method",
                                     "set_custom_all_gather",
                                     "optimizer",
                                     "load",
                                     "to",
                                     "cpu",
                                     "to_empty",
                                     "fill"};

// Besides what a step means: what is expected of it.
constexpr std::string_view fields[] = {
    "do",           "module", "x",       "as",         "grad",    "of",     "outs", "retain",
    "what",         "value",  "recurse", "kind",       "targets", "async",  "lr",   "modules",
    "params",       "method", "stream",  "dtype",      "assign",  "strict", "keys", "seed_add",
    "expect_error", "events", "facts",   "placements", "raises"};

void read_text(const CaseField& step, std::string_view name, std::string& target) {
  if (auto field = step.find(name)) target = field->text();
}

void read_flag(const CaseField& step, std::string_view name, bool& target) {
  if (auto field = step.find(name)) target = field->boolean();
}

void read_texts(const CaseField& step, std::string_view name, std::vector<std::string>& target) {
  if (auto field = step.find(name)) target = field->texts();
}

void check_fields(const CaseField& field) {
  std::vector<std::string> unknown = field.unknown_keys(FieldNames(fields));
  if (!unknown.empty()) field[unknown.front()].reject("a field of a step");
  std::string act = field["do"].text();
  if (std::find(std::begin(acts), std::end(acts), act) == std::end(acts))
    field["do"].reject("a step that is known");
}

}  // namespace

InputPlan read_input(const CaseField& field, DType dtype) {
  InputPlan input;
  if (auto from = field.find("from")) {
    input.from = from->text();
    if (auto chunk = field.find("chunk")) {
      std::vector<std::int64_t> pair = chunk->integers();
      if (pair.size() != 2 || pair[1] < 1 || pair[0] < 0) chunk->reject("a part and a number");
      input.chunk = pair[0];
      input.chunks = pair[1];
    }
    read_flag(field, "detach", input.detach);
    return input;
  }
  input.tensor.shape = field["shape"].shape();
  require_elements(field["shape"], input.tensor.shape, 1);
  Formula& data = input.tensor.data;
  data.dtype = dtype;
  if (auto own = field.find("dtype")) data.dtype = dtype_from_string(own->text());
  data.rule = rule_from_string(field["rule"].text());
  data.seed = field["seed"].unsigned64();
  if (auto below = field.find("below")) data.below = below->unsigned64();
  if (auto scale = field.find("scale")) data.scale = scale->number();
  read_flag(field, "requires_grad", input.requires_grad);
  return input;
}

ProgramStep read_step(const CaseField& field, DType dtype) {
  check_fields(field);
  ProgramStep step;
  step.act = field["do"].text();
  read_text(field, "module", step.module);
  read_text(field, "as", step.as);
  read_text(field, "what", step.what);
  read_text(field, "kind", step.kind);
  read_text(field, "method", step.method);
  if (auto x = field.find("x")) step.input = read_input(*x, dtype);
  read_flag(field, "grad", step.grad);
  read_texts(field, "of", step.of);
  if (auto outs = field.find("outs"); outs && !outs->is_null()) step.outs = outs->integers();
  read_flag(field, "retain", step.retain);
  if (auto value = field.find("value")) step.value = read_plain_value(*value);
  if (auto recurse = field.find("recurse"); recurse && !recurse->is_null())
    step.recurse = recurse->boolean();
  read_texts(field, "targets", step.targets);
  read_texts(field, "modules", step.modules);
  read_texts(field, "params", step.params);
  read_flag(field, "async", step.async);
  read_flag(field, "stream", step.on_stream);
  read_flag(field, "assign", step.assign);
  read_flag(field, "strict", step.strict);
  read_flag(field, "expect_error", step.expect_error);
  if (auto lr = field.find("lr")) step.lr = lr->number();
  if (auto own = field.find("dtype")) step.dtype = dtype_from_string(own->text());
  if (auto seed = field.find("seed_add")) step.seed_add = seed->unsigned64();
  step.has_keys = step.act == "load" && field.has("keys");
  if (step.has_keys) step.keys = field["keys"].texts();
  return step;
}

std::vector<ProgramStep> read_program(const CaseField& field, DType dtype) {
  std::vector<ProgramStep> program;
  for (const CaseField& step : field.items()) program.push_back(read_step(step, dtype));
  return program;
}

}  // namespace simmesh
