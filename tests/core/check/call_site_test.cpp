#include "core/check/call_site.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

CallSite called(CallSite site = CallSite::here()) { return site; }

// If this fails, mismatch reports name a line of the library instead of the caller's.
TEST(CallSite, DefaultArgumentIsTheCallersPlace) {
  CallSite site = called();
  EXPECT_EQ(site.line, __LINE__ - 1);
  EXPECT_STREQ(site.file, __FILE__);
}

// If this fails, reports differ between checkouts.
TEST(CallSite, TextHoldsTheLastComponentOnly) {
  EXPECT_EQ(to_string(CallSite{"/home/somebody/tree/train.cpp", 42}), "train.cpp:42");
  EXPECT_EQ(to_string(CallSite{"train.cpp", 7}), "train.cpp:7");
  EXPECT_EQ(to_string(CallSite{}), ":0");
}

// If this fails, a report of a layer names neither its user's line nor the purpose of the call.
TEST(CallSite, ALabelSaysWhatTheCallIsFor) {
  CallSite site{"/tree/train.cpp", 42};
  CallSite first = labelled(site, "fully_shard of a"), second = labelled(site, "fully_shard of b");
  EXPECT_EQ(to_string(first), "train.cpp:42 (fully_shard of a)");
  EXPECT_EQ(to_string(second), "train.cpp:42 (fully_shard of b)");
  EXPECT_EQ(labelled(site, "fully_shard of a").label, first.label);
  EXPECT_EQ(to_string(labelled(first, "")), "train.cpp:42");
}

// Places in a Python program: the name must stay when the text that it came in is gone.
TEST(CallSite, FilesOfOtherLanguagesAreKept) {
  CallSite site, again;
  {
    std::string file = "/home/user/train.py";
    site = site_in(file, 12);
    again = site_in(file, 13);
  }
  EXPECT_EQ(to_string(site), "train.py:12");
  EXPECT_EQ(site.file, again.file);
}

}  // namespace
}  // namespace simmesh
