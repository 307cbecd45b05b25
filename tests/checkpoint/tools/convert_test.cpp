#include "checkpoint/tools/convert.h"

#include <gtest/gtest.h>

#include "checkpoint/store/directory_store.h"
#include "checkpoint/store/memory_store.h"
#include "checkpoint/tools/diff.h"
#include "checkpoint/tools/verify.h"
#include "tests/checkpoint/error_text.h"

namespace simmesh::checkpoint {
namespace {

Location recorded_dcp(const std::string& name) {
  return {std::make_shared<DirectoryStore>(std::string(SIMMESH_SOURCE_DIR) +
                                           "/tests/cases/checkpoint/dcp"),
          name};
}

// Every format holds what the one before it held, bit for bit, through all three and back.
TEST(Convert, KeepsEveryBitThroughAllFormats) {
  for (const char* name : {"native_1d_uneven", "native_mesh2x2", "native_threads2",
                           "native_file_per_item", "native_single"}) {
    auto store = std::make_shared<MemoryStore>();
    Location from = recorded_dcp(name), ours = {store, "ours"}, dcp = {store, "dcp"},
             files = {store, "files"}, again = {store, "again"};
    ConvertReport report = convert(from, ours, {.format = CheckpointFormat::simmesh});
    EXPECT_GT(report.tensors, 0);
    EXPECT_TRUE(verify(ours).empty());
    EXPECT_TRUE(diff(from, ours).empty()) << name;
    convert(ours, dcp, {.format = CheckpointFormat::dcp});
    EXPECT_TRUE(diff(from, dcp).empty()) << name;
    // Values that are no tensors become text there.
    convert(dcp, files, {.format = CheckpointFormat::safetensors, .file_bytes = 100});
    EXPECT_GE(store->files("files").size(), 2u);
    convert(files, again, {.format = CheckpointFormat::simmesh});
    for (const Difference& difference : diff(from, again))
      EXPECT_EQ(difference.text.find("elements differ"), std::string::npos) << difference.name;
  }
}

TEST(Convert, NeverOverwrites) {
  auto store = std::make_shared<MemoryStore>();
  for (auto format :
       {CheckpointFormat::simmesh, CheckpointFormat::dcp, CheckpointFormat::safetensors}) {
    Location to = {store, std::string(to_string(format))};
    convert(recorded_dcp("native_single"), to, {.format = format});
    EXPECT_NE(testing::error_text([&] {
                convert(recorded_dcp("native_single"), to, {.format = format});
              }).find("exists"),
              std::string::npos);
  }
}

TEST(Convert, NamesItsFormats) {
  EXPECT_EQ(format_from_string("dcp"), CheckpointFormat::dcp);
  EXPECT_NE(testing::error_text([] { format_from_string("zip"); }).find("simmesh, safetensors"),
            std::string::npos);
}

}  // namespace
}  // namespace simmesh::checkpoint
