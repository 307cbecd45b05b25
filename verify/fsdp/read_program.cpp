#include "verify/fsdp/read_program.h"

#include "verify/case_model.h"
#include "verify/case_work.h"
#include "verify/fsdp/read_plan.h"
#include "verify/fsdp/setters.h"

namespace simmesh {

namespace {

constexpr std::size_t program_steps_max = 10'000;

void read_text(const CaseField& step, std::string_view name, std::string& target) {
  if (auto field = step.find(name)) target = field->text();
}

void read_flag(const CaseField& step, std::string_view name, bool& target) {
  if (auto field = step.find(name)) target = field->boolean();
}

void read_texts(const CaseField& step, std::string_view name, std::vector<std::string>& target) {
  if (auto field = step.find(name)) target = field->texts();
}

// Returns the fields of each step besides its module.
std::vector<schema::Choice> step_choices() {
  using namespace schema;
  Field module = optional("module", any_text());
  Field names = required("modules", list(any_text(), {.min = 1}));
  Field handle = optional("as", any_text());
  Field lr = optional("lr", number());
  return {{"forward", {module, required("x", input_schema()), handle, optional("grad", flag())}},
          {"backward",
           {required("of", list(text(), {.min = 1})),
            optional("outs", or_null(list(integer({.min = 0}), {.min = 1}))),
            optional("retain", flag())}},
          {"set",
           {module, required("what", text()), required("value", plain_schema()),
            optional("recurse", or_null(flag()))}},
          {"set_prefetch",
           {module, required("kind", word({"forward", "backward"})),
            required("targets", list(any_text()))}},
          {"unshard", {module, handle, optional("async", flag())}},
          {"reshard", {module}},
          {"wait_handle", {required("as", any_text())}},
          {"zero_grad", {}},
          {"optim_step", {lr}},
          {"state_dict", {handle}},
          {"share_comm_ctx", {names}},
          {"reset_iter_state", {module}},
          {"set_requires_grad",
           {required("params", list(text(), {.min = 1})), required("value", flag())}},
          {"deepcopy", {module}},
          {"set_all_reduce_hook", {module, optional("stream", flag())}},
          {"register_forward_method", {module, required("method", text())}},
          {"set_custom_all_gather", {module}},
          {"optimizer", {lr}},
          {"load",
           {required("seed_add", seed()), optional("assign", flag()), optional("strict", flag()),
            optional("keys", list(text()))}},
          {"to", {required("dtype", dtype_schema())}},
          {"cpu", {}},
          {"to_empty", {}},
          {"fill", {}}};
}

}  // namespace

Schema whole_input_schema() {
  using namespace schema;
  return formula_schema({required("shape", shape_schema()), optional("dtype", dtype_schema()),
                         optional("requires_grad", flag())});
}

Schema input_schema() {
  using namespace schema;
  Schema part = object({required("from", text()),
                        optional("chunk", tuple({integer({.min = 0}), integer({.min = 1})})),
                        optional("detach", flag())});
  return either({part, whole_input_schema()});
}

Schema program_schema(const StepFields& expected) {
  std::vector<schema::Choice> choices = step_choices();
  for (schema::Choice& choice : choices)
    if (choice.word == "state_dict")
      choice.fields.insert(choice.fields.end(), expected.state_dict.begin(),
                           expected.state_dict.end());
  schema::Fields fields = expected.all;
  fields.push_back(schema::optional("expect_error", schema::yes()));
  return schema::list(schema::object_by("do", std::move(choices), std::move(fields)),
                      {.min = expected.steps_min, .max = program_steps_max});
}

Schema settings_schema() {
  std::vector<schema::Choice> choices = step_choices();
  std::erase_if(choices, [](const schema::Choice& choice) { return choice.word != "set"; });
  return schema::list(schema::object_by("do", std::move(choices)), {.max = program_steps_max});
}

InputPlan read_input(const CaseField& field, DType dtype) {
  InputPlan input;
  if (auto from = field.find("from")) {
    input.from = from->text();
    if (auto chunk = field.find("chunk")) {
      std::vector<std::int64_t> pair = chunk->integers();
      if (pair[0] >= pair[1]) chunk->reject("a part and a larger number of parts");
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

std::vector<ProgramStep> read_program(const CaseField& field, DType dtype,
                                      const ProgramOptions& options) {
  std::vector<ProgramStep> program;
  for (const CaseField& entry : field.items()) {
    program.push_back(read_step(entry, dtype));
    const ProgramStep& step = program.back();
    bool is_sound = step.act != "set" || step.expect_error || fits_setter(step.what, step.value);
    if (!is_sound && !options.makes_mistakes)
      entry["value"].reject("a value of the type that set_" + step.what + " takes");
  }
  return program;
}

void require_program(const RecordedCase& recorded, const FsdpPlan& plan,
                     const std::vector<ProgramStep>& program) {
  RunSize size{
      .ranks = plan.world, .steps = std::int64_t(program.size()) + 1, .kept = 1, .input = {}};
  for (const ProgramStep& step : program) {
    if (step.act != "forward") continue;
    ++size.kept;
    const Shape& shape = step.input.tensor.shape;
    if (numel(shape) > numel(size.input)) size.input = shape;
  }
  require_work(recorded["model"], plan.model, size);
  require_parameters(recorded["params"], plan.model);
}

}  // namespace simmesh
