#include "sharding/validate/validation_sites.h"

namespace simmesh {

namespace {

using Flavor = SampleData::Flavor;

// Returns sizes that differ from letter to letter, so that no dim is taken for another.
SampleSizes even_sizes(const std::string& letters, std::int64_t members) {
  SampleSizes sizes;
  std::int64_t factor = 1;
  for (char letter : letters) sizes.set(letter, members * factor++);
  return sizes;
}

SampleSizes uneven_sizes(const std::string& letters, std::int64_t members) {
  SampleSizes sizes;
  std::int64_t added = 1;
  for (char letter : letters) {
    sizes.set(letter, members + added);
    added += (members + added + 1) % members == 0 ? 2 : 1;
  }
  return sizes;
}

SampleSizes with(SampleSizes sizes, char letter, std::int64_t size) {
  sizes.set(letter, size);
  return sizes;
}

}  // namespace

std::vector<ValidationSite> validation_sites(const OpSample& sample, std::uint64_t seed) {
  std::string letters = letters_of(sample);
  std::vector<ValidationSite> sites;
  auto add = [&](std::int64_t members, const SampleSizes& sizes, Flavor flavor, bool negated) {
    std::uint64_t number = sites.size();
    sites.push_back(
        {members, sizes, {seed * 1024 + number, flavor, negated}, seed * 1024 + number * 7 + 1});
  };
  add(2, uneven_sizes(letters, 2), Flavor::small, false);
  add(2, even_sizes(letters, 2), Flavor::fractions, true);
  for (std::int64_t members = 2; members <= 4; ++members) {
    SampleSizes uneven = uneven_sizes(letters, members), even = even_sizes(letters, members);
    add(members, uneven, Flavor::fractions, false);
    add(members, uneven, Flavor::wide, true);
    add(members, even, Flavor::small, true);
    add(members, even, Flavor::wide, false);
    add(members, uneven, Flavor::sparse, false);
    add(members, even, Flavor::sparse, true);
    for (char letter : letters) {
      add(members, with(uneven, letter, members - 1), Flavor::small, false);
      add(members, with(uneven, letter, 0), Flavor::small, false);
    }
  }
  return sites;
}

}  // namespace simmesh
