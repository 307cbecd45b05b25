#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/public_headers.h"

// Programs see the public headers and what these include, and nothing else. Were a header missing,
// programs wouldn't compile; were there others, programs would come to depend on them.
namespace simmesh::tidy {
namespace {

using ::testing::ContainerEq;

TEST(ExportedHeaders, AreThePublicOnesAndWhatTheyInclude) {
  const std::filesystem::path folder = std::filesystem::path(SIMMESH_HEADERS) / "simmesh";
  Paths exported;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      exported.insert(entry.path().lexically_relative(folder).generic_string());
  EXPECT_THAT(exported, ContainerEq(with_included(public_headers())));
}

}  // namespace
}  // namespace simmesh::tidy
