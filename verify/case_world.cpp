#include "verify/case_world.h"

#include <exception>
#include <new>

#include "core/check/check.h"
#include "core/check/json_fault.h"

namespace simmesh {

WorldOptions world_options(const VerifyOptions& options, std::int64_t ranks) {
  return {.ranks = std::size_t(ranks),
          .seed = options.seed,
          .schedule = Schedule::parse(options.schedule),
          .threads = std::size_t(options.threads),
          .arithmetic = Arithmetic::parse(options.arithmetic.value_or("canonical")),
          .release = options.release.value_or(newest_release),
          .timeout_seconds = options.timeout_seconds,
          .trace_file = options.trace_file,
          .program = "simmesh verify"};
}

std::optional<Error> run_case(World& world, const std::function<void(Rank&)>& body,
                              CaseReport& report) {
  Outcome outcome = world.run(body);
  report.fold_schedule(outcome.schedule_hash);
  if (outcome.ok()) {
    report.fold_data(outcome.data_hash);
    return std::nullopt;
  }
  try {
    outcome.rethrow();
  } catch (const BadCase&) {
    throw;
  } catch (const Error& error) {
    if (outcome.failure->exception) return error;
    report.mismatch(error.what());
  } catch (const ContractViolation&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    report.mismatch(json_fault(error.what()));
  }
  return std::nullopt;
}

}  // namespace simmesh
