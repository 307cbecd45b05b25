#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/formula.h"
#include "pipeline/chunks/join.h"
#include "pipeline/chunks/split.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_tensor.h"
#include "verify/json_text.h"
#include "verify/pipeline/case_raises.h"

namespace simmesh {

namespace {

using pipeline::StepArgument;
using pipeline::StepValue;

Schema step_value_schema() {
  return schema::either({schema::flag(), schema::integer(), schema::number(), schema::any_text()});
}

Schema pipeline_chunks_schema() {
  using namespace schema;
  Fields of_tensor = {required("shape", shape_schema()), required("seed", seed()),
                      optional("dim", integer()), optional("spec", word({"replicate"}))};
  Fields of_value = {required("value", step_value_schema())};
  Schema argument = object_of({{"value", of_value}, {"shape", of_tensor}});
  Schema piece =
      object_of({{"value", {expected("value", step_value_schema())}},
                 {"shape", {expected("shape", shape_schema()), expected("hash", hash())}}});
  Schema chunk = object({expected("args", list(piece)), expected("kwargs", map(piece))});
  Schema part = object({required("shape", shape_schema()), required("seed", seed())});
  Schema dim = or_null(either({integer(), word({"reduce"})}));
  Schema joined = object({expected("shape", shape_schema()), expected("hash", hash())});
  return object_of(
      {{"chunks",
        {required("chunks", integer({.min = 1, .max = 1 << 10})),
         required("args", list(argument, {.max = 64})), required("kwargs", map(argument)),
         required("specs_given", flag()), expected("result", list(chunk)).unless("raises"),
         expected("raises", raises_schema()).unless("result")}},
       {"join",
        {required("join", list(part, {.min = 1, .max = 1 << 10})), required("dim", dim),
         expected("joined", joined).unless("raises"),
         expected("raises", raises_schema()).unless("joined")}}});
}

Tensor chunk_tensor(const CaseField& field) {
  Shape shape = field["shape"].shape();
  require_elements(field["shape"], shape, 64);
  return formula(shape, {.rule = Rule::index,
                         .seed = field["seed"].unsigned64(),
                         .below = 1000,
                         .dtype = DType::int64});
}

StepValue plain_value(const CaseField& value) {
  if (value.is_boolean()) return value.boolean();
  if (value.is_integer()) return value.integer();
  if (value.is_number()) return value.number();
  return value.text();
}

StepArgument read_argument(const CaseField& field, bool has_specs) {
  if (auto value = field.find("value")) return StepArgument::of(plain_value(*value));
  StepArgument argument = StepArgument::of(chunk_tensor(field));
  if (!has_specs) return argument;
  if (auto dim = field.find("dim")) argument.split_dim = dim->integer();
  if (field.has("spec")) argument.split_dim.reset();
  return argument;
}

std::string value_details(const StepValue& value) {
  if (const auto* tensor = std::get_if<Tensor>(&value))
    return fmt::format("{} {}", to_string(DimSpan(tensor->shape())), bits_text(*tensor));
  if (const auto* text = std::get_if<std::string>(&value)) return "'" + *text + "'";
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  return fmt::format("{} as a float", std::get<double>(value));
}

std::string value_details(const CaseField& field) {
  if (auto value = field.find("value")) return value_details(plain_value(*value));
  Shape shape = field["shape"].shape();
  return fmt::format("{} {}", to_string(DimSpan(shape)), field["hash"].text());
}

void compare_chunk(CaseReport& report, const std::string& who, const CaseField& expected,
                   const pipeline::MicrobatchArguments& actual) {
  std::vector<CaseField> args = expected["args"].items();
  if (report.expect_equal(who + ": arguments", args.size(), actual.args.size()))
    for (std::size_t i = 0; i < args.size(); ++i)
      report.expect_equal(fmt::format("{}: argument {}", who, i), value_details(args[i]),
                          value_details(actual.args[i]));
  CaseField kwargs = expected["kwargs"];
  std::vector<std::string> names;
  for (const auto& [name, value] : actual.kwargs) names.push_back(name);
  if (!report.expect_equal(who + ": names", kwargs.keys(), names)) return;
  for (const auto& [name, value] : actual.kwargs)
    report.expect_equal(fmt::format("{}: {}", who, name), value_details(kwargs[name]),
                        value_details(value));
}

void verify_split(const RecordedCase& recorded, CaseReport& report) {
  bool has_specs = recorded["specs_given"].boolean();
  pipeline::StepArguments arguments;
  for (const CaseField& field : recorded["args"].items())
    arguments.args.push_back(read_argument(field, has_specs));
  CaseField kwargs = recorded["kwargs"];
  for (const std::string& name : kwargs.keys())
    arguments.kwargs.emplace(name, read_argument(kwargs[name], has_specs));
  std::int64_t chunks = recorded["chunks"].integer();
  auto split = [&] { return pipeline::split_into_chunks(arguments, chunks); };
  if (auto raises = recorded.find("raises"))
    return expect_raises(report, "cutting", *raises, [&] { split(); });
  std::vector<pipeline::MicrobatchArguments> actual = split();
  std::vector<CaseField> expected = recorded["result"].items();
  if (!report.expect_equal("number of chunks", expected.size(), actual.size())) return;
  for (std::size_t i = 0; i < actual.size(); ++i)
    compare_chunk(report, fmt::format("chunk {}", i), expected[i], actual[i]);
}

void verify_join(const RecordedCase& recorded, CaseReport& report) {
  std::vector<Tensor> parts;
  for (const CaseField& part : recorded["join"].items()) parts.push_back(chunk_tensor(part));
  CaseField dim = recorded["dim"];
  auto join = [&] {
    if (dim.is_text())
      return pipeline::reduce_chunks(
          parts, zeros({}, DType::int64),
          [](const Tensor& total, const Tensor& part) { return add(total, sum(part)); });
    return pipeline::join_chunks(parts, dim.is_null() ? 0 : dim.integer());
  };
  if (auto raises = recorded.find("raises"))
    return expect_raises(report, "joining", *raises, [&] { join(); });
  report.expect_equal("joined", value_details(recorded["joined"]), value_details(join()));
}

void verify_pipeline_chunks(const RecordedCase& recorded, const VerifyOptions&,
                            CaseReport& report) {
  if (recorded.has("join")) return verify_join(recorded, report);
  verify_split(recorded, report);
}

const CaseKind pipeline_chunks_kind({.name = "pipeline_chunks",
                                     .summary = "arguments cut into micro-batches, outputs joined",
                                     .schema = pipeline_chunks_schema,
                                     .verifier = verify_pipeline_chunks});

}  // namespace

}  // namespace simmesh
