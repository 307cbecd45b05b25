#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check/fold_hash.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// refusal_schema is {"error": class, "message_contains": phrase}: the Error that must be raised.
Schema refusal_schema();

// refusal_class is the schema of such a class: an Error has one of these names of Python's classes.
Schema refusal_class();

// value_text returns a value as mismatches show it. That of a container, which is written much like
// in Python, is compiled once.
template <class Value>
const Value& value_text(const Value& value) {
  return value;
}
std::string value_text(const std::vector<std::string>& texts);
std::string value_text(const std::vector<std::int64_t>& numbers);
std::string value_text(const std::vector<std::vector<std::int64_t>>& lists);
std::string value_text(const std::vector<std::vector<std::size_t>>& lists);
std::string value_text(const std::set<std::string>& texts);
std::string value_text(const std::map<std::string, std::int64_t>& counts);

// CaseReport collects the mismatches of one case, and the hashes of its results. The first few
// mismatches are kept as text, the others are counted.
//
//   report.expect_equal("rank 3: shape", recorded["shape"].shape(), tensor.shape());
//   report.fold_data(outcome.data_hash);
class CaseReport {
 public:
  static constexpr std::size_t shown_max = 5;

  // mismatch adds a mismatch in words.
  void mismatch(std::string text);

  // expect_equal adds "WHAT: expected E, got A" where the values differ, and returns whether they
  // are equal.
  template <class Expected, class Actual>
  bool expect_equal(std::string_view what, const Expected& expected, const Actual& actual) {
    if (expected == actual) return true;
    mismatch(
        fmt::format("{}: expected {}, got {}", what, value_text(expected), value_text(actual)));
    return false;
  }

  // expect_refusal calls `call`, which must raise an Error as `error` says (refusal_schema). `who`
  // says which call it was.
  void expect_refusal(std::string_view who, const CaseField& error,
                      const std::function<void()>& call);

  // expect_refusal compares an Error that was caught elsewhere; null where there was none.
  void expect_refusal(std::string_view who, const CaseField& error, const Error* actual);

  // expect_words adds a mismatch for each of the "words" of `error` that a message lacks, in
  // capitals or not. A mismatch begins with `who`.
  void expect_words(std::string_view who, const CaseField& error, std::string_view message);

  // pass_as_cheaper notes that the case holds by another plan that costs less than the recorded
  // one, and names both; pass_as_beyond that it holds by a correct result where a refusal is
  // recorded.
  void pass_as_cheaper(std::string plans) { cheaper_ = std::move(plans); }
  void pass_as_beyond() { is_beyond_ = true; }
  const std::optional<std::string>& cheaper() const { return cheaper_; }
  bool is_beyond() const { return is_beyond_; }

  // fold_data and fold_schedule add the hashes of a run.
  void fold_data(std::uint64_t hash);
  void fold_schedule(std::uint64_t hash);

  bool failed() const { return count_ > 0; }
  std::int64_t mismatch_count() const { return count_; }
  const std::vector<std::string>& mismatches() const { return shown_; }
  // data_hash and schedule_hash exist once something was folded.
  std::optional<std::uint64_t> data_hash() const;
  std::optional<std::uint64_t> schedule_hash() const;

 private:
  std::vector<std::string> shown_;
  std::int64_t count_ = 0;
  std::optional<std::string> cheaper_;
  bool is_beyond_ = false;
  std::optional<FoldHash> data_;
  std::optional<FoldHash> schedule_;
};

}  // namespace simmesh
