#include "checkpoint/catalog/state_dict.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::HasSubstr;

TEST(StateDict, KeepsValuesInOrderByName) {
  nn::StateDict tensors = {{"w", zeros({2}, DType::float32)}};
  StateDict state(tensors, "model.");
  state.add("step", std::int64_t{10});
  state.add("lr", 0.5);
  state.add("name", "run");
  std::string names;
  for (const StateDict::Entry& entry : state.entries()) names += entry.name + " ";
  EXPECT_EQ(names, "model.w step lr name ");
  EXPECT_EQ(state.number("step"), 10);
  EXPECT_EQ(state.find("w"), nullptr);
  EXPECT_THAT(error_text([&] { state.add("step", 1.0); }),
              HasSubstr("the name 'step' is there already"));
  for (const char* name : {"lr", "none", "model.w"})
    EXPECT_THAT(error_text([&] { static_cast<void>(state.number(name)); }),
                HasSubstr(std::string("no integer '") + name + "'"));
}

// Tensors alias the model's: a write into them changes the model.
TEST(StateDict, AliasesTensors) {
  Tensor weight = zeros({2}, DType::float32);
  StateDict state;
  state.add("w", weight);
  Tensor(std::get<Tensor>(*state.find("w"))).mutable_values<float>()[1] = 3;
  EXPECT_EQ(weight.values<float>()[1], 3);
}

TEST(StateDict, HandsOverLoadedValues) {
  StateDict state;
  std::int64_t loaded = 0;
  state.add("step", JsonValue(std::int64_t{0}),
            [&](const JsonValue& value) { loaded = *value.get<std::int64_t>(); });
  state.set_loaded("step", JsonValue(std::int64_t{5}));
  EXPECT_EQ(loaded, 5);
  EXPECT_EQ(state.number("step"), 5);
}

// A range must be within the tensor, and have as many elements as there are values.
TEST(StateDict, FlatShardsFitTheirRange) {
  for (std::int64_t begin = -1; begin <= 5; ++begin)
    for (std::int64_t end = -1; end <= 5; ++end)
      for (std::int64_t count = 0; count <= 5; ++count) {
        bool fits = begin >= 0 && end <= 4 && end - begin == count;
        std::string text = error_text([&] {
          StateDict().add("w", FlatShard{zeros({count}, DType::float32), {2, 2}, {begin, end}});
        });
        ASSERT_EQ(text.empty(), fits) << begin << " " << end << " " << count << text;
      }
}

}  // namespace
}  // namespace simmesh::checkpoint
