#include "core/engine/reports/outcome.h"

#include <boost/core/demangle.hpp>
#include <typeinfo>

#include "core/check/error.h"

namespace simmesh {

namespace {

std::string ranks_in_words(const Outcome& outcome) {
  if (!outcome.is_folded()) return fmt::format("{} ranks of shapes only", outcome.ranks);
  std::size_t run = outcome.figures.size();
  std::string text =
      fmt::format("{} of {} ranks {} run, of shapes only, and {} for all of them", run,
                  outcome.ranks, run == 1 ? "was" : "were", run == 1 ? "stands" : "stand");
  if (outcome.fold_difference.empty()) return text;
  return text + fmt::format(" (but their figures differ: {})", outcome.fold_difference);
}

}  // namespace

std::string message_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    if (const char* text = error.what()) return text;
    return fmt::format("an exception of type {} without a text",
                       boost::core::demangle(typeid(error).name()));
  } catch (...) {
    return "an exception of a type that isn't derived from std::exception";
  }
}

void Outcome::rethrow() const {
  if (!failure) return;
  if (failure->exception) std::rethrow_exception(failure->exception);
  throw Error(ErrorKind::runtime_error, "engine/world", report(*this));
}

std::string report(const Outcome& outcome) {
  if (!outcome.failure) return {};
  const Failure& failure = *outcome.failure;
  std::string text = failure.rank == no_rank
                         ? failure.message
                         : fmt::format("rank {} failed: {}", failure.rank, failure.message);
  if (!failure.details.empty()) text += "\n" + failure.details;
  return text + fmt::format("\n  after {} steps, schedule hash {:016x}\n{}", outcome.steps,
                            outcome.schedule_hash, to_string(outcome.repro));
}

std::string to_string(const Outcome& outcome) {
  if (!outcome.ok()) return report(outcome);
  if (outcome.shapes_only)
    return fmt::format("{}, {} steps, schedule hash {:016x}, peak {} bytes per rank",
                       ranks_in_words(outcome), outcome.steps, outcome.schedule_hash,
                       outcome.peak_bytes);
  return fmt::format(
      "{} ranks, {} steps, data hash {:016x}, schedule hash {:016x}, peak {} bytes per rank, {} "
      "physical bytes",
      outcome.ranks, outcome.steps, outcome.data_hash, outcome.schedule_hash, outcome.peak_bytes,
      outcome.physical_peak_bytes);
}

}  // namespace simmesh

fmt::appender fmt::formatter<simmesh::Outcome>::format(const simmesh::Outcome& outcome,
                                                       fmt::format_context& context) const {
  std::string text = simmesh::to_string(outcome);
  return std::copy(text.begin(), text.end(), context.out());
}
