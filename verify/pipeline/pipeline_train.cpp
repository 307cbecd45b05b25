#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>

#include "core/tensor/scalar_value.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_world.h"
#include "verify/json_text.h"
#include "verify/pipeline/run_train.h"
#include "verify/pipeline/zero_signs.h"

namespace simmesh {

namespace {

using nlohmann::json;

// Tensors of a case are recorded by their bits, or by figures that hold within a tolerance.
Schema pipeline_tensor_schema(bool exact) {
  using namespace schema;
  Field shape = expected("shape", shape_schema());
  if (exact) return object({shape, expected("hash", hash())});
  return object({shape, expected("sum", number()), expected("abs_sum", number()),
                 expected("first", number()).or_absent(), expected("last", number()).or_absent()});
}

schema::Fields step_results(bool exact) {
  using namespace schema;
  const char* why = "results are recorded where there are some";
  Schema tensor = pipeline_tensor_schema(exact);
  Fields by_data_rank = {expected("by_data_rank", list(or_null(tensor)))};
  Schema grad = or_null(object_of({{"by_data_rank", by_data_rank}, {"shape", tensor->fields}}));
  return {expected("losses", list(either({list(figure()), figure()}))).or_absent(why),
          expected("output", either({list(tensor), tensor})).or_absent(why),
          expected("input_grad", list(or_null(tensor))).or_absent(why),
          expected("grads", map(grad)).or_absent(why),
          expected("events", list(list(any()))).or_absent(why),
          expected("data_ranks_agree", flag()).or_absent(why)};
}

Schema train_case_schema(bool exact) {
  using namespace schema;
  Schema tensor = pipeline_tensor_schema(exact);
  Schema correct = object({expected("grads", map(map(or_null(tensor)))),
                           expected("final", map(pipeline_tensor_schema(exact)))});
  Schema of_buffer = object({expected("shape", shape_schema()), expected("hash", hash())});
  Fields by_data_rank = {expected("by_data_rank", list(or_null(tensor)))};
  std::vector<Choice> values = {{"by_data_rank", by_data_rank}, {"hash", of_buffer->fields}};
  if (!exact) values.push_back({"sum", tensor->fields});
  Schema value = object_of(std::move(values));
  Fields own = {expected("final", map(value)), expected("peak_states", map(integer())),
                expected("correct", correct).or_absent("most cases aren't disputed")};
  if (!exact) {
    Schema share = number_in(0.0, 1.0);
    own.push_back(
        required("tolerance", object({required("rtol", share), required("atol", share)})));
  }
  return object(pipeline_case_fields(std::move(own), step_results(exact)));
}

// TrainCheck compares the records of all ranks with a case.
class TrainCheck {
 public:
  TrainCheck(const RecordedCase& recorded, const PipelineCase& plan,
             const std::vector<PipelineRecord>& of_rank, CaseReport& report)
      : recorded_(recorded), plan_(plan), of_rank_(of_rank), report_(report) {
    if (auto tolerance = recorded.find("tolerance")) {
      is_exact_ = false;
      rtol_ = (*tolerance)["rtol"].number();
      atol_ = (*tolerance)["atol"].number();
    }
  }

  void run() {
    if (auto correct = recorded_.find("correct")) return run_correct(*correct);
    std::vector<CaseField> steps = recorded_["program"].items();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (auto losses = steps[i].find("losses")) expect_losses(i, *losses);
      if (auto output = steps[i].find("output")) expect_output(i, *output);
      if (auto grads = steps[i].find("input_grad")) expect_input_grad(i, *grads);
      if (auto grads = steps[i].find("grads")) expect_grads(i, *grads);
      if (auto events = steps[i].find("events")) expect_events(i, *events);
      if (auto agree = steps[i].find("data_ranks_agree"))
        report_.expect_equal(fmt::format("step {}: data_ranks_agree", i), agree->boolean(),
                             data_ranks_agree(i));
    }
    expect_final(recorded_["final"]);
    expect_peaks();
  }

 private:
  // The results of one device count where those of the recorded system are wrong.
  void run_correct(const CaseField& correct) {
    for (const std::string& key : correct["grads"].keys())
      expect_grads(std::size_t(std::stoull(key)), correct["grads"][key]);
    expect_final(correct["final"]);
  }

  std::size_t rank_of(std::int64_t pp, std::int64_t data_rank) const {
    return std::size_t(pp * plan_.data_ranks + data_rank);
  }
  std::size_t last_rank(std::int64_t data_rank) const {
    return rank_of(plan_.stage_to_rank[plan_.stages.size() - 1], data_rank);
  }

  bool is_close(double wanted, double got, double magnitude) const {
    if (is_exact_ || std::isnan(wanted)) return wanted == got || (wanted != wanted && got != got);
    return wanted == got || std::abs(got - wanted) <= atol_ + rtol_ * std::abs(magnitude);
  }

  void expect_tensor(const std::string& who, const CaseField& expected, const Tensor& actual) {
    if (expected.is_null() || !actual.is_defined()) {
      report_.expect_equal(who + ": is there", !expected.is_null(), actual.is_defined());
      return;
    }
    report_.expect_equal(who + ": shape", expected["shape"].shape(), actual.shape());
    if (expected.has("hash")) {
      if (!has_bits_but_zero_signs(actual, expected["hash"].text()))
        report_.expect_equal(who + ": hash", expected["hash"].text(), bits_text(actual));
      return;
    }
    std::vector<double> values = known_doubles(actual);
    double sum = 0, abs_sum = 0;
    for (double value : values) {
      sum += value;
      abs_sum += std::abs(value);
    }
    auto check = [&](const char* field, double got, double magnitude) {
      double wanted = expected[field].number();
      if (!is_close(wanted, got, magnitude))
        report_.mismatch(fmt::format("{}: {}: expected {}, got {}", who, field, wanted, got));
    };
    double recorded_sum = expected["abs_sum"].number();
    check("sum", sum, recorded_sum);
    check("abs_sum", abs_sum, recorded_sum);
    bool has_ends = expected.has("first") && expected.has("last");
    if (!report_.expect_equal(who + ": has elements", has_ends, !values.empty()) || !has_ends)
      return;
    check("first", values.front(), expected["first"].number());
    check("last", values.back(), expected["last"].number());
  }

  void expect_figures(const std::string& who, const std::vector<CaseField>& expected,
                      const std::vector<Tensor>& actual) {
    if (!report_.expect_equal(who + ": number", expected.size(), actual.size())) return;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      double wanted = expected[i].number(), got = scalar_value(actual[i].detach());
      if (!is_close(wanted, got, wanted))
        report_.mismatch(fmt::format("{}[{}]: expected {}, got {}", who, i, wanted, got));
    }
  }

  void expect_losses(std::size_t step, const CaseField& expected) {
    std::vector<CaseField> entries = expected.items();
    bool by_data_rank = !entries.empty() && entries.front().is_list();
    if (!by_data_rank)
      return expect_figures(fmt::format("step {}: losses", step), entries,
                            of_rank_[last_rank(0)].steps[step].losses);
    if (!has_data_ranks(fmt::format("step {}: losses", step), entries)) return;
    for (std::size_t d = 0; d < entries.size(); ++d)
      expect_figures(fmt::format("step {}: losses of data rank {}", step, d), entries[d].items(),
                     of_rank_.at(last_rank(std::int64_t(d))).steps[step].losses);
  }

  bool has_data_ranks(const std::string& who, const std::vector<CaseField>& entries) {
    return report_.expect_equal(who + ": data ranks", entries.size(),
                                std::size_t(plan_.data_ranks));
  }

  void expect_output(std::size_t step, const CaseField& expected) {
    std::vector<CaseField> entries =
        expected.is_list() ? expected.items() : std::vector<CaseField>{expected};
    if (!has_data_ranks(fmt::format("step {}: output", step), entries)) return;
    for (std::size_t d = 0; d < entries.size(); ++d) {
      const auto& output = of_rank_.at(last_rank(std::int64_t(d))).steps[step].output;
      expect_tensor(fmt::format("step {}: output of data rank {}", step, d), entries[d],
                    output.value_or(Tensor()));
    }
  }

  void expect_input_grad(std::size_t step, const CaseField& expected) {
    std::vector<CaseField> entries = expected.items();
    if (!has_data_ranks(fmt::format("step {}: gradients of the input", step), entries)) return;
    for (std::size_t d = 0; d < entries.size(); ++d) {
      std::size_t first = rank_of(plan_.stage_to_rank[0], std::int64_t(d));
      expect_tensor(fmt::format("step {}: gradient of the input of data rank {}", step, d),
                    entries[d], of_rank_[first].steps[step].input_grad.value_or(Tensor()));
    }
  }

  // Returns a parameter's tensor on the ranks of a data rank.
  Tensor find_tensor(
      const std::string& name, std::int64_t data_rank,
      const std::function<const std::vector<nn::NamedTensor>&(const PipelineRecord&)>& of_record)
      const {
    for (std::int64_t pp = 0; pp < plan_.pipeline_ranks; ++pp)
      for (const auto& [known, tensor] : of_record(of_rank_[rank_of(pp, data_rank)]))
        if (known == name) return tensor;
    return {};
  }

  void expect_named(
      const std::string& who, const CaseField& expected,
      const std::function<const std::vector<nn::NamedTensor>&(const PipelineRecord&)>& of_record) {
    std::size_t count = 0;
    for (std::int64_t pp = 0; pp < plan_.pipeline_ranks; ++pp)
      count += of_record(of_rank_[rank_of(pp, 0)]).size();
    report_.expect_equal(who + ": number", expected.size(), count);
    for (const std::string& name : expected.keys()) {
      CaseField entry = expected[name];
      bool differs = entry.is_object() && entry.has("by_data_rank");
      std::vector<CaseField> of_data_rank =
          differs ? entry["by_data_rank"].items()
                  : std::vector<CaseField>(std::size_t(plan_.data_ranks), entry);
      for (std::size_t d = 0; d < of_data_rank.size() && std::int64_t(d) < plan_.data_ranks; ++d)
        expect_tensor(fmt::format("{} of {} (data rank {})", who, name, d), of_data_rank[d],
                      find_tensor(name, std::int64_t(d), of_record));
    }
  }

  void expect_grads(std::size_t step, const CaseField& expected) {
    expect_named(fmt::format("step {}: gradients", step), expected,
                 [step](const PipelineRecord& record) -> const std::vector<nn::NamedTensor>& {
                   return record.steps.at(step).grads;
                 });
  }

  void expect_final(const CaseField& expected) {
    expect_named("final values", expected,
                 [](const PipelineRecord& record) -> const std::vector<nn::NamedTensor>& {
                   return record.final;
                 });
  }

  void expect_events(std::size_t step, const CaseField& expected) {
    std::vector<CaseField> ranks = expected.items();
    if (!report_.expect_equal(fmt::format("step {}: ranks with events", step), ranks.size(),
                              std::size_t(plan_.pipeline_ranks)))
      return;
    for (std::size_t pp = 0; pp < ranks.size(); ++pp) {
      const PipelineStepRecord& record = of_rank_[rank_of(std::int64_t(pp), 0)].steps[step];
      expect_event_list(fmt::format("step {}: rank {} of the pipeline", step, pp),
                        ranks[pp].value(), with_hashes_of(ranks[pp].value(), record));
    }
  }

  // Returns the events with the recorded hashes of sent tensors that differ in signs of zeros only.
  static json with_hashes_of(const json& expected, const PipelineStepRecord& record) {
    json events = record.events;
    std::size_t sent = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i][0] != "post") continue;
      bool is_alike = i < expected.size() && expected[i].size() == 2 && expected[i][1].is_array() &&
                      expected[i][1].size() == events[i][1].size();
      for (std::size_t j = 0; j < events[i][1].size(); ++j) {
        json& message = events[i][1][j];
        if (message.size() < 4) continue;
        const Tensor& tensor = record.sent.at(sent++);
        if (!is_alike || expected[i][1][j].size() < 4 || !expected[i][1][j][3].is_string())
          continue;
        std::string hash = expected[i][1][j][3].get<std::string>();
        bool is_hash =
            hash.size() == 16 && hash.find_first_not_of("0123456789abcdef") == std::string::npos;
        if (is_hash && has_bits_but_zero_signs(tensor, hash)) message[3] = hash;
      }
    }
    return events;
  }

  void expect_event_list(const std::string& who, const json& expected, const json& actual) {
    std::size_t count = std::max(expected.size(), actual.size());
    for (std::size_t i = 0; i < count; ++i) {
      std::string wanted = i < expected.size() ? expected[i].dump() : "no further event";
      std::string got = i < actual.size() ? actual[i].dump() : "no further event";
      if (wanted == got) continue;
      report_.mismatch(fmt::format("{}: event {}: expected {}, got {}", who, i, wanted, got));
      return;
    }
  }

  // Posts differ between data ranks in peers and hashes.
  static json without_posts(const json& events) {
    json kept = json::array();
    for (const json& event : events)
      if (event[0] != "post") kept.push_back(event);
    return kept;
  }

  bool data_ranks_agree(std::size_t step) const {
    for (std::int64_t pp = 0; pp < plan_.pipeline_ranks; ++pp)
      for (std::int64_t d = 1; d < plan_.data_ranks; ++d)
        if (without_posts(of_rank_[rank_of(pp, d)].steps[step].events) !=
            without_posts(of_rank_[rank_of(pp, 0)].steps[step].events))
          return false;
    return true;
  }

  void expect_peaks() {
    std::map<std::string, std::int64_t> expected, actual;
    CaseField field = recorded_["peak_states"];
    for (const std::string& stage : field.keys()) expected[stage] = field[stage].integer();
    for (std::int64_t pp = 0; pp < plan_.pipeline_ranks; ++pp)
      for (const auto& [stage, peak] : of_rank_[rank_of(pp, 0)].peak_states)
        actual[std::to_string(stage)] = std::int64_t(peak);
    report_.expect_equal("peak states", expected, actual);
  }

  const RecordedCase& recorded_;
  const PipelineCase& plan_;
  const std::vector<PipelineRecord>& of_rank_;
  CaseReport& report_;
  bool is_exact_ = true;
  double rtol_ = 0, atol_ = 0;
};

// Gradients that the results of one device are known for are recorded too.
void record_correct_grads(const RecordedCase& recorded, PipelineCase& plan) {
  auto correct = recorded.find("correct");
  if (!correct) return;
  for (const std::string& key : (*correct)["grads"].keys()) {
    bool is_step = !key.empty() && key.size() < 6 &&
                   key.find_first_not_of("0123456789") == std::string::npos &&
                   std::stoull(key) < plan.program.size();
    if (!is_step) (*correct)["grads"].reject("fields named by steps of the program");
    plan.program[std::stoull(key)].records_grads = true;
  }
}

void verify_pipeline_train(const RecordedCase& recorded, const VerifyOptions& options,
                           CaseReport& report) {
  PipelineCase plan = read_pipeline_case(recorded);
  record_correct_grads(recorded, plan);
  bool hashes = !recorded.has("tolerance");
  std::vector<PipelineRecord> of_rank(std::size_t(plan.world));
  World world(world_options(options, plan.world));
  auto error = run_case(
      world,
      [&](Rank& rank) {
        PipelineRank pipeline(plan, rank, hashes);
        pipeline.build();
        pipeline.make_schedule();
        PipelineRecord& record = of_rank[rank.id()];
        for (const PipelineStep& step : plan.program) record.steps.push_back(pipeline.run(step));
        pipeline.finish(record);
        for (const auto& [name, tensor] : record.final) rank.record(tensor);
      },
      report);
  if (error) report.mismatch(fmt::format("expected a training run, got {}", error->what()));
  if (!report.failed()) TrainCheck(recorded, plan, of_rank, report).run();
}

const CaseKind pipeline_train_exact_kind(
    {.name = "pipeline_train_exact",
     .summary = "losses, messages, gradients and parameters of a pipeline that is trained, bit for "
                "bit, and the order of its events",
     .schema = [] { return train_case_schema(true); },
     .verifier = verify_pipeline_train});

const CaseKind pipeline_train_kind({.name = "pipeline_train",
                                    .summary = "the same within the case's tolerance",
                                    .schema = [] { return train_case_schema(false); },
                                    .verifier = verify_pipeline_train});

}  // namespace

}  // namespace simmesh
