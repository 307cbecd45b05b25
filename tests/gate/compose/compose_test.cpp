#include "gate/compose/compose.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/gate/compose/compose_texts.h"

namespace simmesh {
namespace {

using testing::compose_model;
using testing::composed;
using testing::expect_error;

// All forms of parallelism, on all small numbers of ranks.
TEST(Compose, EveryLayoutEqualsOneDevice) {
  for (const char* kind : {"transformer", "moe"}) {
    Composition found = composed(compose_model(kind), {.ranks = {2, 4}, .jobs = 2});
    EXPECT_GT(found.layouts.size(), 30u);
    EXPECT_EQ(found.losses.size(), 2u);
    for (const LayoutResult& result : found.layouts) {
      EXPECT_TRUE(result.passed()) << result.name << ": " << result.failure
                                   << (result.difference ? result.difference->where : "");
      EXPECT_EQ(result.tensors, found.tensors);
      EXPECT_GT(result.peak_bytes, 0);
    }
  }
}

void expect_all_pass(const char* model, const ComposeRequest& request, std::size_t layouts_min) {
  std::string path = std::string(SIMMESH_SOURCE_DIR "/examples/compose/") + model + ".toml";
  Composition found = compose(read_compose_model(path), {}, request);
  EXPECT_GE(found.layouts.size(), layouts_min);
  for (const LayoutResult& result : found.layouts)
    EXPECT_TRUE(result.passed()) << result.name << ": " << result.failure
                                 << (result.difference ? result.difference->where : "");
}

// If this fails, a layout of the models that the page counts isn't one device. A sample of another
// number than before takes other layouts.
TEST(Compose, SamplesOfTheExamplesAreOneDevice) {
  expect_all_pass("transformer", {.sample = 17, .jobs = 2}, 17);
  expect_all_pass("moe", {.sample = 11, .jobs = 2}, 11);
}

TEST(Compose, DISABLED_EveryLayoutOfTheExamplesIsOneDevice) {
  expect_all_pass("transformer", {.jobs = 2}, 2'761);
  expect_all_pass("moe", {.jobs = 2}, 11'137);
}

TEST(Compose, ASampleIsSpreadOverAllLayouts) {
  GateFile gate = compose_model_from_text(compose_model("transformer"), "m.toml");
  std::vector<ComposeLayout> all = layouts_asked_for(gate, {.ranks = {2, 8}}).fitting;
  auto names_of = [&](std::int64_t sample) {
    std::vector<std::string> names;
    for (const ComposeLayout& one :
         layouts_asked_for(gate, {.ranks = {2, 8}, .sample = sample}).fitting)
      names.push_back(one.name);
    return names;
  };
  std::vector<std::string> four = names_of(4);
  ASSERT_EQ(four.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(four[i], all[i * all.size() / 4].name);
  EXPECT_EQ(names_of(1), std::vector{all[0].name});
  EXPECT_EQ(names_of(1'000'000).size(), all.size());
}

TEST(Compose, ResultDoesNotDependOnJobs) {
  ComposeRequest request{.ranks = {2, 4}, .only = {"hsdp", "sequence"}};
  Composition one = composed(compose_model("transformer"), request);
  request.jobs = 3;
  Composition three = composed(compose_model("transformer"), request);
  ASSERT_EQ(one.layouts.size(), three.layouts.size());
  for (std::size_t i = 0; i < one.layouts.size(); ++i) {
    EXPECT_EQ(one.layouts[i].name, three.layouts[i].name);
    EXPECT_EQ(one.layouts[i].peak_bytes, three.layouts[i].peak_bytes);
  }
}

// A wrong scale in layouts with two forms must be named with the smallest of these layouts.
TEST(Compose, NamesTheSmallestLayoutWithAWrongScale) {
  Composition found = composed(compose_model("moe"), {.ranks = {2, 8},
                                                      .without = {"context", "hsdp"},
                                                      .faults = {{{"fsdp", "tensor"}, 2.0}},
                                                      .jobs = 2});
  std::int64_t failed = 0;
  for (const LayoutResult& result : found.layouts) {
    auto has = [&](const char* form) {
      const auto& forms = result.forms;
      return std::find(forms.begin(), forms.end(), form) != forms.end();
    };
    bool is_wrong = has("fsdp") && has("tensor");
    EXPECT_EQ(result.passed(), !is_wrong) << result.name;
    if (!is_wrong) continue;
    ++failed;
    EXPECT_EQ(result.smallest, "fsdp=2+tensor=2") << result.name;
    if (result.name != result.smallest) {
      EXPECT_EQ(result.first, "");
      continue;
    }
    EXPECT_EQ(result.first.find("gradient of head.weight in step 0, "), 0u) << result.first;
    EXPECT_NE(result.first.find("2 times that of one device"), std::string::npos) << result.first;
  }
  EXPECT_GT(failed, 3);
  EXPECT_EQ(found.failed(), failed);
  EXPECT_EQ(found.reproduce(),
            "simmesh compose m.toml --layout fsdp=2+tensor=2 --inject fsdp+tensor=2");
}

// Every fault of a form or a pair of forms is found where it is, and nowhere else.
TEST(Compose, FindsAFaultInEachForm) {
  for (const std::string form : {"replicate", "fsdp", "zero1", "zero2", "zero3", "context",
                                 "tensor", "sequence", "expert"}) {
    Composition found =
        composed(compose_model("moe"), {.ranks = {2, 2}, .faults = {{{form}, 0.5}}, .jobs = 2});
    for (const LayoutResult& result : found.layouts) {
      const auto& forms = result.forms;
      bool is_wrong = std::find(forms.begin(), forms.end(), form) != forms.end();
      EXPECT_EQ(result.passed(), !is_wrong) << form << " in " << result.name;
    }
    EXPECT_GT(found.failed(), 0) << form;
  }
}

TEST(Compose, RunsOneLayoutByItsName) {
  Composition found = composed(compose_model("transformer"),
                               {.layout = "hsdp=2x3+context=2:ulysses:contiguous+tensor=2"});
  ASSERT_EQ(found.layouts.size(), 1u);
  EXPECT_EQ(found.layouts[0].ranks, 24);
  EXPECT_TRUE(found.layouts[0].passed());
}

TEST(Compose, TakesAGateForItsModelOnly) {
  GateFile gate = compose_model_from_text(
      compose_model("transformer") +
          "[mesh]\nshape = [7]\n[parallel]\nfsdp = {}\nactivation_checkpointing = \"blocks\"\n"
          "[expect]\nhash = \"0123456789abcdef\"\n",
      "m.toml");
  EXPECT_EQ(gate.ranks(), 1);
  EXPECT_FALSE(gate.parallel.fsdp);
  EXPECT_TRUE(gate.parallel.checkpoint_blocks);
  EXPECT_TRUE(gate.expect.hash.empty());
  EXPECT_EQ(gate.arithmetic, "exact");
  EXPECT_EQ(compose_model_from_text("[arithmetic]\nmode = \"canonical\"\n", "m").arithmetic,
            "canonical");
}

TEST(Compose, RefusesWhatItCannotRun) {
  auto refuses = [](const ComposeRequest& request, std::string_view words) {
    expect_error([&] { composed(compose_model("transformer"), request); }, ErrorKind::value_error,
                 words);
  };
  refuses({.layout = "tensor=3"}, "divides the 2 heads");
  refuses({.layout = "nothing"}, "expected layouts that fit");
  refuses({.ranks = {2, 2}, .only = {"expert"}}, "expected layouts that fit");
  expect_error([] { compose_model_from_text("[world]\nshapes_only = true\n", "m"); },
               ErrorKind::value_error, "world.shapes_only");
  expect_error([] { compose_model_from_text("[modle]\n", "m"); }, ErrorKind::value_error, "model");
}

TEST(Compose, ReadsFaults) {
  InjectedFault fault = parse_injected_fault("expert+tensor=0.5");
  EXPECT_EQ(fault.forms, (std::vector<std::string>{"expert", "tensor"}));
  EXPECT_EQ(fault.factor, 0.5);
  for (const char* text :
       {"expert", "expert=", "expert=x", "expert=0", "expert=-1", "=2", "fspd=2", "expert=inf"})
    expect_error([&] { parse_injected_fault(text); }, ErrorKind::value_error, "expected");
}

}  // namespace
}  // namespace simmesh
