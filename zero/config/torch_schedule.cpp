#include <algorithm>
#include <memory>

#include "core/arithmetic/functions.h"
#include "core/check/error.h"
#include "zero/config/lr_schedule.h"

namespace simmesh::zero {

namespace {

constexpr double torch_pi = 3.14159265358979323846;

double cosine_of(double x) { return apply_function(Function::cos, x); }

// Returns a schedule in which a rate follows from the one before: next(rate, epoch, initial). Epoch
// 0 follows from the initial rate. It remembers where it is, so that going on costs one step.
template <class Next>
LrSchedule chained(const std::vector<double>& initial, Next next) {
  struct Place {
    std::int64_t epoch = -1;
    std::vector<double> rates;
  };
  auto place = std::make_shared<Place>();
  return [initial, next, place](std::int64_t iteration) {
    if (place->epoch < 0 || place->epoch > iteration + 1) *place = {-1, initial};
    while (place->epoch < iteration + 1) {
      ++place->epoch;
      for (std::size_t i = 0; i < initial.size(); ++i)
        place->rates[i] = next(place->rates[i], place->epoch, initial[i]);
    }
    return GroupRates{.learning_rates = place->rates};
  };
}

}  // namespace

LrSchedule lr_schedule(const StepLR& config, const std::vector<double>& initial) {
  return chained(initial, [config](double rate, std::int64_t epoch, double) {
    return epoch == 0 || epoch % config.step_size != 0 ? rate : rate * config.gamma;
  });
}

LrSchedule lr_schedule(const MultiStepLR& config, const std::vector<double>& initial) {
  return chained(initial, [config](double rate, std::int64_t epoch, double) {
    auto count = std::count(config.milestones.begin(), config.milestones.end(), epoch);
    if (count == 0) return rate;
    return rate * (count == 1 ? config.gamma : power(config.gamma, double(count)));
  });
}

LrSchedule lr_schedule(const ConstantLR& config, const std::vector<double>& initial) {
  return chained(initial, [config](double rate, std::int64_t epoch, double) {
    if (epoch == 0) return rate * config.factor;
    if (epoch != config.total_iters) return rate;
    if (config.factor == 0)
      raise(ErrorKind::value_error, "zero/scheduler",
            "scheduler.params.factor: expected a number other than 0, by which step {} divides",
            epoch);
    return rate * (1.0 / config.factor);
  });
}

LrSchedule lr_schedule(const LinearLR& config, const std::vector<double>& initial) {
  return chained(initial, [config](double rate, std::int64_t epoch, double) {
    if (epoch == 0) return rate * config.start_factor;
    if (epoch > config.total_iters) return rate;
    double change = config.end_factor - config.start_factor;
    return rate * (1.0 + change / (double(config.total_iters) * config.start_factor +
                                   double(epoch - 1) * change));
  });
}

LrSchedule lr_schedule(const ExponentialLR& config, const std::vector<double>& initial) {
  return chained(initial, [config](double rate, std::int64_t epoch, double) {
    return epoch == 0 ? rate : rate * config.gamma;
  });
}

LrSchedule lr_schedule(const PolynomialLR& config, const std::vector<double>& initial) {
  return chained(initial, [config](double rate, std::int64_t epoch, double) {
    if (epoch == 0 || epoch > config.total_iters) return rate;
    double total = double(config.total_iters);
    double ratio = (1.0 - double(epoch) / total) / (1.0 - double(epoch - 1) / total);
    return rate * (config.power == 1.0 ? ratio : power(ratio, config.power));
  });
}

LrSchedule lr_schedule(const CosineAnnealingLR& config, const std::vector<double>& initial) {
  return chained(initial, [config](double rate, std::int64_t epoch, double first) {
    if (epoch == 0) return rate;
    double period = double(config.T_max), least = config.eta_min;
    if ((epoch - 1 - config.T_max) % (2 * config.T_max) == 0)
      return rate + (first - least) * (1 - cosine_of(torch_pi / period)) / 2;
    double ratio = (1 + cosine_of(torch_pi * double(epoch) / period)) /
                   (1 + cosine_of(torch_pi * double(epoch - 1) / period));
    return ratio * (rate - least) + least;
  });
}

LrSchedule lr_schedule(const CosineAnnealingWarmRestarts& config,
                       const std::vector<double>& initial) {
  return [config, initial](std::int64_t iteration) {
    std::int64_t place = std::max<std::int64_t>(iteration + 1, 0), period = config.T_0;
    if (config.T_mult == 1) place %= period;
    for (; place >= period; period *= config.T_mult) place -= period;
    GroupRates rates{.learning_rates = initial};
    for (double& rate : rates.learning_rates)
      rate = config.eta_min + (rate - config.eta_min) *
                                  (1 + cosine_of(torch_pi * double(place) / double(period))) / 2;
    return rates;
  };
}

}  // namespace simmesh::zero
