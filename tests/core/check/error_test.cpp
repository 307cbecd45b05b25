#include "core/check/error.h"

#include <gtest/gtest.h>

#include "core/check/check.h"

namespace simmesh {
namespace {

// If this fails, reports lose the place, or message() cuts the text at the wrong character.
TEST(Error, TextIsPlaceAndMessage) {
  try {
    raise(ErrorKind::value_error, "mesh/unflatten", "sizes {} multiply to {}", "[2, 3]", 6);
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::value_error);
    EXPECT_STREQ(error.what(), "[mesh/unflatten] sizes [2, 3] multiply to 6");
    EXPECT_EQ(error.message(), "sizes [2, 3] multiply to 6");
  }
}

// If this fails, message() reads past the end, or stops at a bracket of the message's own.
TEST(Error, MessageMayBeEmptyOrHoldBrackets) {
  EXPECT_EQ(Error(ErrorKind::key_error, "a", "").message(), "");
  EXPECT_EQ(Error(ErrorKind::key_error, "", "[x] y").message(), "[x] y");
}

// If this fails, an error that another process has told has another text there.
TEST(Error, IsMadeAnewOfItsText) {
  for (const Error& error :
       {Error(ErrorKind::key_error, "a/b", "x] y [z]"), Error(ErrorKind::index_error, "", "")}) {
    Error again = Error::of_text(error.kind(), error.what());
    EXPECT_STREQ(again.what(), error.what());
    EXPECT_EQ(again.message(), error.message());
    EXPECT_EQ(again.kind(), error.kind());
  }
  EXPECT_THROW(Error::of_text(ErrorKind::key_error, "no place"), ContractViolation);
}

// If this fails, a refusal is compared with a recorded one under the wrong name.
TEST(Error, KindsHavePythonNames) {
  EXPECT_EQ(to_string(ErrorKind::runtime_error), "RuntimeError");
  EXPECT_EQ(to_string(ErrorKind::value_error), "ValueError");
  EXPECT_EQ(to_string(ErrorKind::index_error), "IndexError");
  EXPECT_EQ(to_string(ErrorKind::key_error), "KeyError");
  EXPECT_EQ(to_string(ErrorKind::type_error), "TypeError");
  EXPECT_EQ(to_string(ErrorKind::assertion_error), "AssertionError");
  EXPECT_EQ(to_string(ErrorKind::not_implemented_error), "NotImplementedError");
  EXPECT_EQ(to_string(ErrorKind::attribute_error), "AttributeError");
  EXPECT_EQ(to_string(ErrorKind::zero_division_error), "ZeroDivisionError");
  EXPECT_THROW(to_string(ErrorKind(77)), ContractViolation);
}

}  // namespace
}  // namespace simmesh
