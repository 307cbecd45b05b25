#include <gmock/gmock.h>

#include "checkpoint/format/formats.h"
#include "checkpoint/store/directory_store.h"
#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string recorded_runs = SIMMESH_SOURCE_DIR "/tests/cases/checkpoint/deepspeed";

// A run's folder stands for the checkpoint that its file `latest` names.
TEST(DeepSpeedFormat, OpensARunAndOneOfItsCheckpoints) {
  auto store = std::make_shared<DirectoryStore>(recorded_runs);
  for (const char* name : {"z3_fp32_w1", "z3_fp32_w1/global_step3"}) {
    auto opened = deepspeed_format.opens({store, name});
    ASSERT_TRUE(opened) << name;
    EXPECT_EQ(opened->folder, "z3_fp32_w1/global_step3");
    EXPECT_FALSE(opened->catalog.tensors.empty());
  }
}

// Every byte of every file is read.
TEST(DeepSpeedFormat, ListsWhatIsWrongWithItsFiles) {
  DirectoryStore recorded(recorded_runs);
  auto store = std::make_shared<MemoryStore>();
  for (const std::string& file : recorded.files("z3_fp32_w1"))
    testing::add_file(*store, "run/" + file,
                      testing::text_of(read_file(recorded, "z3_fp32_w1/" + file, 1 << 20)));
  OpenCheckpoint opened = *deepspeed_format.opens({store, "run"});
  EXPECT_THAT(deepspeed_format.problems({store, "run"}, opened), IsEmpty());
  const StoredChunk& chunk = opened.catalog.tensors[0].chunks[0];
  store->flip(joined(opened.folder, chunk.file), chunk.begin, 3);
  EXPECT_THAT(deepspeed_format.problems({store, "run"}, opened),
              ElementsAre(HasSubstr("is corrupt")));
}

}  // namespace
}  // namespace simmesh::checkpoint
