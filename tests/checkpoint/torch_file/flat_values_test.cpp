#include "checkpoint/torch_file/flat_values.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "checkpoint/torch_file/zip_archive.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using testing::bytes_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

// The pickle of a tensor of two bytes.
const std::string tensor =
    "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nByteStorage\nX\1\0\0\0"
    "0X\3\0\0\0cpuK\2tQK\0K\2\x85K\1\x85\x89NtR"s;

// Returns the names of the tensors, then those of the other values, of a file with one pickle.
std::vector<std::string> names_of(const std::string& pickle, const std::string& name = "") {
  MemoryStore store;
  testing::add_file(
      store, "f.pt",
      testing::text_of(
          zip_of({{"a/data.pkl", bytes_of(pickle + ".")}, {"a/data/0", bytes_of("ab")}}, 64)));
  TorchFile file(store, "f.pt");
  Catalog catalog;
  add_values(catalog, file, "f.pt", file.root(), name);
  std::vector<std::string> names;
  for (const StoredTensor& stored : catalog.tensors) names.push_back(stored.name);
  for (const StoredObject& object : catalog.objects) names.push_back("=" + object.name);
  return names;
}

TEST(FlatValues, NamesAreThePlacesOfTensors) {
  EXPECT_THAT(names_of(tensor), ElementsAre("tensor"));
  EXPECT_THAT(names_of("](" + tensor + "K\1e"), ElementsAre("0", "=1"));
  EXPECT_THAT(names_of("}(X\1\0\0\0a}(K\5"s + tensor + "uX\1\0\0\0b}(K\1K\2uu"s),
              ElementsAre("a.5", "=b"));
  EXPECT_THAT(names_of("K\1"), ElementsAre("=value"));
  EXPECT_THAT(names_of("](" + tensor + "e", "rng"), ElementsAre("rng.0"));
  EXPECT_THAT(names_of("}(K\1K\2u", "epochs"), ElementsAre("=epochs"));
}

// A tensor that isn't read must not hide the one beside it.
TEST(FlatValues, KeepsTensorsThatAreNotReadAsValues) {
  std::string broken = tensor;
  broken.replace(broken.find("K\2\x85"), 2, "K\7");
  EXPECT_THAT(names_of("](" + tensor + broken + "e"), ElementsAre("0", "=1"));
}

// Ten lists, each with the one before ten times, would have 10^10 names.
TEST(FlatValues, RefusesManyMoreNamesThanValues) {
  std::string laughs = "](" + tensor + "e\x94";
  for (char level = 0; level < 10; ++level) {
    laughs += "](";
    for (int i = 0; i < 10; ++i) laughs += {'h', level};
    laughs += "e\x94";
  }
  EXPECT_THAT(simmesh::testing::error_text([&] { names_of("(" + laughs + "t"); }),
              HasSubstr("many more names than the file has values"));
}

TEST(FlatValues, FindsTensorsInValuesThatHoldThemselves) {
  MemoryStore store;
  Pickle cycle(bytes_of("]\x94h\0a."s));
  EXPECT_FALSE(has_torch_views(cycle.root()));
  Pickle held(bytes_of("]\x94(h\0"s + tensor + "e."s));
  EXPECT_TRUE(has_torch_views(held.root()));
}

}  // namespace
}  // namespace simmesh::checkpoint
