#include "checkpoint/safetensors/safetensors_file.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::add_file;
using testing::bytes_of;
using ::testing::HasSubstr;
using namespace std::string_literals;

std::string read_problem(const std::string& bytes) {
  MemoryStore store;
  add_file(store, "f", bytes);
  return error_text([&] { read_safetensors_header(store, "f"); });
}

// Tensors are sorted by dtype and then by name, in whatever order they are given.
TEST(SafetensorsFile, WritesTensorsInTheOrderOfThePackage) {
  auto eight = bytes_of("12345678"), two = bytes_of("ab"), one = bytes_of("x");
  std::vector<WrittenTensor> tensors = {{"c", StoredDType::u8, {1}, one},
                                        {"b", StoredDType::f16, {1}, two},
                                        {"a", StoredDType::u8, {2, 1}, two},
                                        {"d", StoredDType::i64, {}, eight}};
  MemoryStore store;
  write_safetensors(*store.create("f"), tensors, {{{"k", "v"}}});
  SafetensorsHeader header = read_safetensors_header(store, "f");
  std::string names;
  for (const SafetensorsEntry& entry : header.tensors) names += entry.name;
  EXPECT_EQ(names, "dbac");
  EXPECT_EQ(header.metadata->at("k"), "v");
  std::string file = testing::text_of(read_file(store, "f", 1 << 20));
  EXPECT_EQ(file.substr(std::size_t(header.data_begin())), "12345678ababx");
  SafetensorsLayout layout = lay_out_safetensors(tensors, {{{"k", "v"}}});
  EXPECT_EQ(layout.order, (std::vector<std::size_t>{3, 1, 2, 0}));
  EXPECT_EQ(layout.file_bytes(), std::int64_t(file.size()));
  EXPECT_EQ(testing::text_of(safetensors_header_bytes(layout)),
            file.substr(0, std::size_t(header.data_begin())));
}

TEST(SafetensorsFile, WritesOnlyWhatCanBeRead) {
  auto two = bytes_of("ab");
  auto problem = [](const std::vector<WrittenTensor>& tensors) {
    return error_text([&] { lay_out_safetensors(tensors); });
  };
  EXPECT_THAT(problem({{"__metadata__", StoredDType::u8, {2}, two}}),
              HasSubstr("no tensor may have the name __metadata__"));
  EXPECT_THAT(problem({{"a", StoredDType::u8, {2}, two}, {"a", StoredDType::u8, {2}, two}}),
              HasSubstr("the tensor 'a' comes twice"));
  EXPECT_THAT(problem({{"a", StoredDType::u8, {3}, two}}), HasSubstr("2 bytes, expected 3"));
  EXPECT_THAT(problem({{"\xc3", StoredDType::u8, {2}, two}}), HasSubstr("isn't UTF-8"));
  EXPECT_EQ(problem({}), "");
}

// A length in the file is compared with the file's size before anything is allocated.
TEST(SafetensorsFile, RefusesLengthsThatCantBe) {
  EXPECT_EQ(read_problem("\2\0\0\0\0\0\0\0{}"s), "");
  EXPECT_THAT(read_problem(""), HasSubstr("memory/f: 0 bytes, expected at least 8"));
  EXPECT_THAT(read_problem("\2\0\0\0"s), HasSubstr("4 bytes, expected at least 8"));
  EXPECT_THAT(read_problem("\3\0\0\0\0\0\0\0{}"s),
              HasSubstr("a header of 3 bytes in a file of 10 bytes"));
  EXPECT_THAT(read_problem("\1\xe1\xf5\5\0\0\0\0{}"s),
              HasSubstr("a header of 100000001 bytes, expected at most 100000000"));
  EXPECT_THAT(read_problem("\xff\xff\xff\xff\xff\xff\xff\xff{}"s),
              HasSubstr("a header of 18446744073709551615 bytes"));
  EXPECT_THAT(read_problem("\2\0\0\0\0\0\0\0[]"s), HasSubstr("memory/f: the header doesn't begin"));
  MemoryStore store;
  EXPECT_THAT(error_text([&] { read_safetensors_header(store, "none"); }),
              HasSubstr("memory/none: no such file"));
}

}  // namespace
}  // namespace simmesh::checkpoint
