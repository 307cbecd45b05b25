#include <gmock/gmock.h>
#include <map>

#include "tests/verify/changed_case.h"
#include "tests/verify/schema_walk.h"
#include "verify/case_kind.h"

// A case with one mistake in it must not pass, wherever it is: a verifier lets through what it
// doesn't check.
namespace simmesh {
namespace {

using nlohmann::json;
using testing::for_each_spot;
using testing::Pointer;
using testing::Spot;
using Type = SchemaNode::Type;

constexpr std::size_t cases_per_kind = 6;
constexpr std::size_t mutants_per_case = 60;

// every_few returns at most `most` entries of a list, evenly spread.
template <class T>
std::vector<T> every_few(const std::vector<T>& list, std::size_t most) {
  std::vector<T> chosen;
  for (std::size_t i = 0; i < std::min(most, list.size()); ++i)
    chosen.push_back(list[i * list.size() / std::min(most, list.size())]);
  return chosen;
}

// The cases of traces that are read fast, with the paths of their files from
// tests/cases/checkpoint; timelines there are of one job only.
std::vector<json> quick_replay_cases() {
  std::vector<std::string> paths = {SIMMESH_SOURCE_DIR "/tests/cases/replay"};
  std::vector<json> found;
  for (const RecordedCase& recorded :
       load_cases(paths, [](const RecordedCase&) { return true; }).cases) {
    json value = recorded.root().value();
    bool is_quick = value.dump().find("generated/") != std::string::npos ||
                    value["kind"] == "trace_bad" || value["kind"] == "skew" ||
                    value["kind"] == "bandwidth";
    if (!is_quick) continue;
    auto move = [](json& file) { file = "../replay/" + file.get<std::string>(); };
    if (value.contains("file")) move(value["file"]);
    if (value.contains("files"))
      for (json& file : value["files"]) move(file);
    found.push_back(std::move(value));
  }
  return found;
}

// The recorded cases of each kind that hold here, a few of each.
const std::map<std::string, std::vector<json>>& chosen_cases() {
  static const std::map<std::string, std::vector<json>> cases = [] {
    std::vector<std::string> paths;
    for (const char* folder :
         {"pytorch", "pytorch_autograd", "pytorch_ops", "fsdp", "zero", "checkpoint",
          "paddle/aoa.jsonl", "paddle/checkpoint.jsonl", "paddle/ema.jsonl",
          "paddle/local_shape.jsonl", "paddle/sharding_buffers.jsonl"})
      paths.push_back(std::string(SIMMESH_SOURCE_DIR "/tests/cases/") + folder);
    for (const char* file : {"fallback", "reshard", "spmd"})
      paths.push_back(fmt::format(SIMMESH_SOURCE_DIR "/tests/cases/paddle/{}.jsonl", file));
    std::map<std::string, std::vector<json>> found;
    for (const RecordedCase& recorded :
         load_cases(paths, [](const RecordedCase&) { return true; }).cases)
      found[recorded.kind()].push_back(recorded.root().value());
    for (const json& value : quick_replay_cases()) found[value["kind"]].push_back(value);
    for (auto& [kind, list] : found) list = every_few(list, cases_per_kind);
    return found;
  }();
  return cases;
}

enum class MutantEnding { passed, failed, refused };

MutantEnding ending_of(const json& value) {
  try {
    return testing::verify_value(value).failed() ? MutantEnding::failed : MutantEnding::passed;
  } catch (const BadCase&) {
    return MutantEnding::refused;
  }
}

// Calls `visit` with each chosen case and with its spots that `wanted` chooses, a few of them.
void for_each_mutation(const std::function<bool(const Spot&)>& wanted,
                       const std::function<void(const json&, const Spot&)>& visit) {
  for (const auto& [kind, values] : chosen_cases())
    for (const json& value : values) {
      RecordedCase recorded = RecordedCase::parse(value.dump(), {});
      std::vector<Spot> spots;
      for_each_spot({.at = Pointer(),
                     .value = recorded.root(),
                     .schema = CaseKind::find(kind)->schema().get()},
                    [&](const Spot& spot) {
                      if (wanted(spot)) spots.push_back(spot);
                    });
      for (const Spot& spot : every_few(spots, mutants_per_case)) visit(value, spot);
    }
}

TEST(Mutants, EachKindHasCases) {
  for (const CaseKind* kind : CaseKind::all())
    if (!kind->name().starts_with("test_")) {
      EXPECT_EQ(chosen_cases().count(std::string(kind->name())), 1u) << kind->name();
    }
}

// The words of a refusal of a configuration are DeepSpeed's; only its class and key count. Whether
// a refusal of a statement is a KeyError counts, its other words are Paddle's, and so are its names
// of the tensors' parts.
bool is_word_of_another_system(const json& value, const Spot& spot) {
  std::string at = spot.at.to_string();
  if (value["kind"] == "zero_config" && (spot.at.back() == "phrase" || spot.at.back() == "why"))
    return true;
  return (value["kind"] == "paddle_aoa" && at.starts_with("/error/")) ||
         (value["kind"] == "paddle_checkpoint" && at.starts_with("/names"));
}

// Named contents of a case may be missing: tensors that nobody asks for, files that are not read.
bool is_named_by_the_case(const json& value, const Spot& spot) {
  std::string parent = spot.at.parent_pointer().to_string(), kind = value["kind"];
  return (kind == "paddle_aoa" && (parent == "/tensors" || parent == "/targets")) ||
         (kind == "paddle_checkpoint" && parent == "/contents") ||
         (kind == "dcp_hf" && parent == "/files");
}

// A field that nobody knows fails the case at every depth: it may change the meaning of the case.
TEST(Mutants, FailByAFieldThatIsNotKnown) {
  std::size_t count = 0;
  // A field that may have any value is given to a parser of its own.
  for_each_mutation(
      [](const Spot& spot) { return spot.value.is_object() && spot.schema->type != Type::any; },
      [&](json mutant, const Spot& spot) {
        mutant[spot.at]["nonsense"] = 1;
        MutantEnding ending = ending_of(mutant);
        ++count;
        EXPECT_NE(ending, MutantEnding::passed) << mutant["id"] << " " << spot.at;
        if (spot.schema->type == Type::object && !spot.schema->choices.empty() &&
            spot.schema->tag.empty())
          return;
        if (spot.schema->type == Type::object) {
          EXPECT_EQ(ending, MutantEnding::failed) << mutant["id"] << " " << spot.at;
        }
      });
  EXPECT_GT(count, 1000u);
}

// Facts that are left out are those of the step before; everything else may be left out only where
// the schema says so.
TEST(Mutants, DoNotPassWithoutAFieldThatIsRequired) {
  std::size_t count = 0;
  for_each_mutation(
      [](const Spot& spot) {
        return !spot.at.empty() &&
               spot.at.back().find_first_not_of("0123456789") != std::string::npos;
      },
      [&](json mutant, const Spot& spot) {
        json& parent = mutant[spot.at.parent_pointer()];
        if (!parent.is_object() || is_named_by_the_case(mutant, spot) ||
            is_word_of_another_system(mutant, spot))
          return;
        bool is_fact = spot.is_free && spot.at.parent_pointer().back() == "facts";
        parent.erase(spot.at.back());
        ++count;
        if (ending_of(mutant) == MutantEnding::passed && !is_fact) {
          EXPECT_TRUE(spot.is_optional) << mutant["id"] << " " << spot.at;
        }
      });
  EXPECT_GT(count, 1000u);
}

// Returns another value of the same type, far beyond any tolerance.
json changed(const json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>() + 1;
  if (value.is_number()) return 2 * value.get<double>() + 1000;
  if (value.is_null()) return 7;
  std::string text = value.get<std::string>();
  if (text.empty()) return "other";
  text[0] = text[0] == '0' ? '1' : '0';
  return text;
}

// Without a tolerance for it, a hash in a case that is compared by tolerance is not looked at
// before the last step.
bool is_out_of_reach(const json& value, const Spot& spot) {
  if (is_word_of_another_system(value, spot)) return true;
  // A sound trace has no finding of any rule.
  if (value["kind"] == "trace_bad" && spot.at.back() == "rule" && value["verdict"] == "ok")
    return true;
  // No byte is there.
  if (spot.at.back() == "data_at" && value[spot.at.parent_pointer()]["data_len"] == 0) return true;
  return value["kind"] == "zero_train" && value["compare"]["mode"] == "tolerance" &&
         spot.at.back() == "params_hash";
}

TEST(Mutants, DoNotPassWithAnotherResult) {
  std::size_t count = 0;
  for_each_mutation(
      [](const Spot& spot) { return spot.is_result && !spot.value.value().is_structured(); },
      [&](json mutant, const Spot& spot) {
        if (is_out_of_reach(mutant, spot)) return;
        mutant[spot.at] = changed(mutant[spot.at]);
        ++count;
        EXPECT_NE(ending_of(mutant), MutantEnding::passed) << mutant["id"] << " " << spot.at;
      });
  EXPECT_GT(count, 2000u);
}

// Words that a message must have are in no order, and fewer of them ask for less; so do gradients.
bool is_list_of_results(const Spot& spot) {
  return spot.is_result && spot.value.is_list() && spot.value.size() > 0 &&
         spot.at.back() != "words" && spot.at.back() != "must_name" && spot.at.back() != "grads";
}

TEST(Mutants, DoNotPassWithAResultLess) {
  std::size_t count = 0;
  for_each_mutation(is_list_of_results, [&](json mutant, const Spot& spot) {
    if (is_word_of_another_system(mutant, spot)) return;
    mutant[spot.at].erase(mutant[spot.at].size() - 1);
    ++count;
    EXPECT_NE(ending_of(mutant), MutantEnding::passed) << mutant["id"] << " " << spot.at;
  });
  EXPECT_GT(count, 500u);
}

TEST(Mutants, DoNotPassWithAResultMore) {
  for_each_mutation(is_list_of_results, [](json mutant, const Spot& spot) {
    if (is_word_of_another_system(mutant, spot)) return;
    mutant[spot.at].push_back(mutant[spot.at].back());
    EXPECT_NE(ending_of(mutant), MutantEnding::passed) << mutant["id"] << " " << spot.at;
  });
}

TEST(Mutants, DoNotPassWithTwoResultsSwapped) {
  std::size_t count = 0;
  for_each_mutation(is_list_of_results, [&](json mutant, const Spot& spot) {
    if (is_word_of_another_system(mutant, spot)) return;
    // Names and values of a checkpoint are found by name.
    if (mutant["kind"].get<std::string>().starts_with("dcp_") &&
        (spot.at.back() == "names" || spot.at.back() == "objects"))
      return;
    json& list = mutant[spot.at];
    for (std::size_t i = 1; i < list.size(); ++i) {
      if (list[i] == list[0]) continue;
      std::swap(list[0], list[i]);
      ++count;
      EXPECT_NE(ending_of(mutant), MutantEnding::passed) << mutant["id"] << " " << spot.at;
      return;
    }
  });
  EXPECT_GT(count, 300u);
}

}  // namespace
}  // namespace simmesh
