#include "sharding/validate/validation_sites.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

// If a kind of size were left out, rules that only fail there would pass.
TEST(ValidationSites, HaveAllKindsOfSizesForEachNumberOfRanks) {
  auto sites = validation_sites({"", "ab c"}, 0);
  for (std::int64_t members : {2, 3, 4})
    for (char letter : {'a', 'b', 'c'}) {
      auto has = [&](auto fits) {
        return std::any_of(sites.begin(), sites.end(), [&](const ValidationSite& site) {
          return site.members == members && fits(site.sizes[letter]);
        });
      };
      EXPECT_TRUE(has([&](std::int64_t size) { return size > 0 && size % members == 0; }));
      EXPECT_TRUE(has([&](std::int64_t size) { return size > members && size % members != 0; }));
      EXPECT_TRUE(has([&](std::int64_t size) { return size > 0 && size < members; }));
      EXPECT_TRUE(has([&](std::int64_t size) { return size == 0; }));
    }
}

// If two letters had equal sizes, one dim could be taken for another.
TEST(ValidationSites, LettersHaveUnlikeSizes) {
  for (const ValidationSite& site : validation_sites({"", "ab cd"}, 0)) {
    bool is_common = site.sizes['a'] >= site.members && site.sizes['b'] >= site.members &&
                     site.sizes['c'] >= site.members && site.sizes['d'] >= site.members;
    if (!is_common) continue;
    std::vector<std::int64_t> sizes = {site.sizes['a'], site.sizes['b'], site.sizes['c'],
                                       site.sizes['d']};
    std::sort(sizes.begin(), sizes.end());
    EXPECT_EQ(std::unique(sizes.begin(), sizes.end()), sizes.end());
  }
}

TEST(ValidationSites, TheFirstIsSmallAndSeedsDiffer) {
  auto sites = validation_sites({"", "ab"}, 0), others = validation_sites({"", "ab"}, 1);
  EXPECT_EQ(sites[0].members, 2);
  EXPECT_EQ(sites[0].sizes['a'], 3);
  EXPECT_NE(sites[0].data.seed, others[0].data.seed);
  EXPECT_NE(sites[0].craft_seed, others[0].craft_seed);
}

}  // namespace
}  // namespace simmesh
