#include "checkpoint/torch_file/numpy_values.h"

#include <gtest/gtest.h>

#include "checkpoint/catalog/tagged_value.h"
#include "checkpoint/torch_file/pickle_json.h"
#include "tests/checkpoint/file_bytes.h"

namespace simmesh::checkpoint {
namespace {

using namespace std::string_literals;

// Returns a pickle of an array of two int8 with a shape and bytes.
JsonValue array_of_bytes(const std::string& shape, const std::string& bytes) {
  Pickle pickle(testing::bytes_of("cnumpy._core.numeric\n_frombuffer\n(C" +
                                  std::string(1, char(bytes.size())) + bytes +
                                  "cnumpy\ndtype\nX\2\0\0\0i1\x85R"s + shape + "tR."));
  return json_of(pickle.root());
}

// An array whose bytes don't fit its shape must not be read beyond them.
TEST(NumpyValues, BytesMustFitTheShape) {
  EXPECT_EQ(array_of_bytes("K\2\x85", "\1\xff").text(),
            R"({"$array":{"dtype":"|i1","shape":[2],"values":[1,-1]}})");
  for (const std::string& shape : {"K\3\x85"s, "K\1\x85"s, "J\xff\xff\xff\xff\x85"s, "N"s,
                                   "J\0\0\0\x7fJ\0\0\0\x7fJ\0\0\0\x7f\x87"s})
    EXPECT_EQ(tag_of(array_of_bytes(shape, "\1\xff")), "$opaque") << shape;
}

}  // namespace
}  // namespace simmesh::checkpoint
