#include "checkpoint/tools/convert.h"

#include <gtest/gtest.h>

#include "checkpoint/dcp/dcp_writer.h"
#include "checkpoint/read/open.h"
#include "checkpoint/store/directory_store.h"
#include "checkpoint/store/memory_store.h"
#include "checkpoint/tools/diff.h"
#include "checkpoint/tools/verify.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

Location recorded_dcp(const std::string& name) {
  return {std::make_shared<DirectoryStore>(std::string(SIMMESH_SOURCE_DIR) +
                                           "/tests/cases/checkpoint/dcp"),
          name};
}

// A chain of conversions through all formats that are written keeps every bit.
TEST(Convert, KeepsEveryBitThroughAllFormats) {
  for (const char* name : {"native_1d_uneven", "native_mesh2x2", "native_threads2",
                           "native_file_per_item", "native_single"}) {
    auto store = std::make_shared<MemoryStore>();
    Location from = recorded_dcp(name), ours = {store, "ours"}, dcp = {store, "dcp"},
             files = {store, "files"}, again = {store, "again"};
    ConvertReport report = convert(from, ours, {.format = simmesh_format});
    EXPECT_GT(report.tensors, 0);
    EXPECT_TRUE(verify(ours).empty());
    EXPECT_TRUE(diff(from, ours).empty()) << name;
    convert(ours, dcp, {.format = dcp_format});
    EXPECT_TRUE(diff(from, dcp).empty()) << name;
    // Values that are no tensors become text there.
    convert(dcp, files, {.format = safetensors_format, .write = {.file_bytes = 100}});
    EXPECT_GE(store->files("files").size(), 2u);
    convert(files, again, {.format = simmesh_format});
    for (const Difference& difference : diff(from, again))
      EXPECT_EQ(difference.text.find("elements differ"), std::string::npos) << difference.name;
  }
}

// A dtype that one format lacks must not keep the other tensors from being written.
TEST(Convert, LeavesOutTensorsThatAFormatDoesntHave) {
  auto store = std::make_shared<MemoryStore>();
  {
    DcpWriter writer(*store, "dcp");
    for (StoredDType dtype : {StoredDType::f32, StoredDType::c128, StoredDType::f4_x2})
      writer.add({std::string(to_string(dtype)), dtype, {2}, {}}, {whole(Shape{2})}, [&](auto) {
        return std::vector<std::byte>(std::size_t(2 * bits_per_element(dtype) / 8), std::byte{7});
      });
    writer.finish();
  }
  ConvertReport report = convert({store, "dcp"}, {store, "files"}, {.format = safetensors_format});
  EXPECT_EQ(report.unheld_tensors, std::vector<std::string>{"C128 (C128)"});
  EXPECT_EQ(open({store, "files"}).catalog.find("F4_X2")->shape, (Shape{4}));
  report = convert({store, "dcp"}, {store, "ours"}, {.format = simmesh_format});
  EXPECT_EQ(report.tensors, 3);
  EXPECT_TRUE(verify({store, "ours"}).empty());
  convert({store, "ours"}, {store, "again"}, {.format = dcp_format});
  EXPECT_TRUE(diff({store, "dcp"}, {store, "again"}).empty()) << "no bit is lost on the way";
  report = convert({store, "files"}, {store, "pairs"}, {.format = dcp_format});
  EXPECT_TRUE(report.unheld_tensors.empty()) << "an even number of F4 is pairs";
}

TEST(Convert, NeverOverwrites) {
  auto store = std::make_shared<MemoryStore>();
  for (const Format* format : formats) {
    if (!format->writes) continue;
    Location to = {store, std::string(format->name)};
    convert(recorded_dcp("native_single"), to, {.format = *format});
    EXPECT_NE(simmesh::testing::error_text([&] {
                convert(recorded_dcp("native_single"), to, {.format = *format});
              }).find("exists"),
              std::string::npos);
  }
}

// A format that is only read can't be written, and nothing is left at the target.
TEST(Convert, RefusesAFormatThatIsOnlyRead) {
  auto store = std::make_shared<MemoryStore>();
  EXPECT_NE(simmesh::testing::error_text([&] {
              convert(recorded_dcp("native_single"), {store, "to"}, {.format = deepspeed_format});
            }).find("expected the format simmesh, dcp or safetensors, got 'deepspeed'"),
            std::string::npos);
  EXPECT_TRUE(store->files("").empty());
}

}  // namespace
}  // namespace simmesh::checkpoint
