#include "zero/config/config_keys.h"

#include <gtest/gtest.h>
#include <set>

namespace simmesh::zero {
namespace {

// If this fails, two keys of a section are one for DeepSpeed's file, or a key sets nothing.
template <class Section>
void expect_sound_keys() {
  std::set<std::string> names;
  for (const ConfigKey<Section>& key : config_keys<Section>()) {
    for (const std::string& name : {key.name, key.alias, key.old_name})
      if (!name.empty()) {
        EXPECT_TRUE(names.insert(name).second) << name;
        EXPECT_TRUE(is_key<Section>(name)) << name;
      }
    Section section;
    JsonValue written = key.write(section);
    if (written.is_null()) continue;
    Section again;
    key.read({written, key.name}, again);
    EXPECT_EQ(key.write(again).text(200), written.text(200)) << key.name;
  }
  EXPECT_FALSE(is_key<Section>("no_such_key"));
}

TEST(ConfigKeys, AreOneEachAndReadWhatTheyWrite) {
  expect_sound_keys<ZeroOptimization>();
  expect_sound_keys<OffloadParam>();
  expect_sound_keys<OffloadOptimizer>();
  expect_sound_keys<LeafModule>();
  expect_sound_keys<Fp16>();
  expect_sound_keys<Bf16>();
  expect_sound_keys<DataTypes>();
  expect_sound_keys<OptimizerConfig>();
  expect_sound_keys<Aio>();
  expect_sound_keys<WarmupLR>();
  expect_sound_keys<WarmupDecayLR>();
  expect_sound_keys<WarmupCosineLR>();
  expect_sound_keys<OneCycle>();
  expect_sound_keys<LRRangeTest>();
  expect_sound_keys<Config>();
}

// If this fails, a key sets another field than its own: each number is read and looked for.
TEST(ConfigKeys, ANumberOfAKeyChangesThatKeyOnly) {
  JsonValue seven = JsonValue(std::int64_t(7));
  for (const ConfigKey<ZeroOptimization>& key : config_keys<ZeroOptimization>()) {
    if (key.write({}).get<std::int64_t>() == nullptr || key.name == "stage") continue;
    ZeroOptimization zero;
    key.read({seven, key.name}, zero);
    for (const ConfigKey<ZeroOptimization>& other : config_keys<ZeroOptimization>())
      EXPECT_EQ(other.write(zero).text(200),
                &other == &key ? "7" : other.write(ZeroOptimization()).text(200))
          << key.name << " set " << other.name;
  }
}

}  // namespace
}  // namespace simmesh::zero
