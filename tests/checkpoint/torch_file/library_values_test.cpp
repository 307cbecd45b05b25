#include "checkpoint/torch_file/library_values.h"

#include <gtest/gtest.h>

#include "checkpoint/catalog/tagged_value.h"
#include "checkpoint/torch_file/pickle_json.h"
#include "tests/checkpoint/file_bytes.h"

namespace simmesh::checkpoint {
namespace {

using namespace std::string_literals;

JsonValue json_of_pickle(const std::string& text) {
  Pickle pickle(testing::bytes_of(text));
  return json_of(pickle.root());
}

// Arguments that a class doesn't take must leave it opaque, and not make a wrong value.
TEST(LibraryValues, ArgumentsThatDontFitAreNotRead) {
  for (const char* text :
       {"cdatetime\ndate\nC\3abc\x85R.", "cbuiltins\ncomplex\nK\1\x85R.", "cbuiltins\nslice\n)R.",
        "cpathlib\nPosixPath\nK\1\x85R.", "ctorch\ndevice\n)R.", "cdatetime\ntimedelta\n]]]\x87R.",
        "cbuiltins\ngetattr\nNN\x86R."})
    EXPECT_NE(tag_of(json_of_pickle(text)), "") << text;
}

TEST(LibraryValues, EnumsMayBeAttributesOfTheirClass) {
  EXPECT_EQ(json_of_pickle("cbuiltins\ngetattr\ncm\nPhase\nX\5\0\0\0TRAIN\x86R."s).text(),
            R"({"$instance":{"class":"m.Phase","value":"TRAIN"}})");
}

TEST(LibraryValues, DTypesAreTexts) {
  EXPECT_EQ(library_global("torch.float32"), "torch.float32");
  EXPECT_EQ(library_global("torch.relu"), std::nullopt);
  EXPECT_EQ(library_global("os.system"), std::nullopt);
}

}  // namespace
}  // namespace simmesh::checkpoint
