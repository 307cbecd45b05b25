#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include "core/check/json_value.h"
#include "zero/config/lr_schedule.h"
#include "zero/config/scheduler_json.h"

namespace simmesh::zero {
namespace {

using Rates = std::vector<double>;

double number_in(const JsonValue& value) {
  const auto* whole = value.get<std::int64_t>();
  return whole != nullptr ? double(*whole) : *value.get<double>();
}

Rates row_of(const JsonValue& list) {
  Rates row;
  for (const JsonValue& entry : *list.get<JsonValue::List>()) row.push_back(number_in(entry));
  return row;
}

// Returns 0 where all recorded bits are ours. In some steps of the others a cosine or power of the
// C library and ours differ: each is off by at most 2 units in the last place, and five operations
// follow. CosineAnnealingLR and PolynomialLR multiply by such a value in each of 50 steps; the
// least divisor, 1 + cos(50 pi / 60), is above 2^-3.
double bound_of(const std::string& type, const JsonValue& params) {
  constexpr double once = 9 * 0x1p-52;
  if (type == "CyclicLR" && params.find("gamma") != nullptr) return once;
  if (type == "OneCycleLR" && params.find("cycle_momentum") != nullptr) return once;
  if (type == "PolynomialLR" && params.find("power") != nullptr) return 50 * once;
  if (type == "CosineAnnealingLR" && params.find("eta_min") != nullptr) return 50 * 8 * once;
  return 0.0;
}

void expect_row(const Rates& got, const Rates& recorded, double bound, const Rates& initial) {
  ASSERT_EQ(got.size(), recorded.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (bound == 0)
      EXPECT_EQ(got[i], recorded[i]) << i;
    else
      EXPECT_NEAR(got[i], recorded[i], bound * std::max(std::abs(recorded[i]), initial[i])) << i;
}

// The rates before the first step and after each of 50, recorded from the classes themselves by
// tests/interop/record_schedules.py. If this fails, a schedule has another value at some step, or
// another order of operations.
TEST(RecordedSchedules, HaveTheRatesOfTheClasses) {
  std::ifstream file(SIMMESH_SOURCE_DIR "/tests/zero/config/schedules.jsonl");
  int schedules = 0;
  for (std::string text; std::getline(file, text); ++schedules) {
    JsonValue line = JsonValue::parse(text);
    SCOPED_TRACE(text.substr(0, 120));
    SchedulerConfig config = *read_scheduler(line);
    Rates initial = row_of(*line.find("initial"));
    LrSchedule schedule =
        std::visit([&](const auto& of_type) { return lr_schedule(of_type, initial); }, config);
    double bound = bound_of(*line.find("type")->get<std::string>(), *line.find("params"));
    const auto& rates = *line.find("rates")->get<JsonValue::List>();
    ASSERT_EQ(rates.size(), 51u);
    const JsonValue* momenta = line.find("momenta");
    for (std::size_t step = 0; step < rates.size(); ++step) {
      SCOPED_TRACE(step);
      GroupRates got = schedule(std::int64_t(step) - 1);
      expect_row(got.learning_rates, row_of(rates[step]), bound, initial);
      Rates beta1 = got.momenta;
      for (const auto& betas : got.betas) beta1.push_back(betas[0]);
      EXPECT_EQ(beta1.empty(), momenta == nullptr);
      if (momenta != nullptr)
        expect_row(beta1, row_of((*momenta->get<JsonValue::List>())[step]), bound, {1.0, 1.0});
    }
  }
  EXPECT_EQ(schedules, 31);
}

// If this fails, a training that continues goes through another schedule: it asks for a later step
// first, and for earlier ones after it.
TEST(RecordedSchedules, DependOnTheIterationAlone) {
  LrSchedule schedule = lr_schedule(ExponentialLR{.gamma = 0.5}, {8.0});
  EXPECT_EQ(schedule(2).learning_rates, Rates{1.0});
  EXPECT_EQ(schedule(-1).learning_rates, Rates{8.0});
  EXPECT_EQ(schedule(0).learning_rates, Rates{4.0});
}

}  // namespace
}  // namespace simmesh::zero
