#include "replay/trace/comm_kind.h"

#include <gtest/gtest.h>

namespace simmesh::replay {

namespace {

// Would fail if a spelling that PyTorch records were read as another collective.
TEST(ReplayCommKind, KnowsEveryRecordedSpelling) {
  EXPECT_EQ(comm_kind("allreduce"), CommKind::all_reduce);
  EXPECT_EQ(comm_kind("all_reduce"), CommKind::all_reduce);
  EXPECT_EQ(comm_kind("AllReduce"), CommKind::all_reduce);
  EXPECT_EQ(comm_kind("_allgather_base"), CommKind::all_gather_base);
  EXPECT_EQ(comm_kind("all_gather"), CommKind::all_gather);
  EXPECT_EQ(comm_kind("_reduce_scatter_base"), CommKind::reduce_scatter_base);
  EXPECT_EQ(comm_kind("all_to_all"), CommKind::all_to_all);
  EXPECT_EQ(comm_kind("all_to_allv"), CommKind::all_to_allv);
  EXPECT_EQ(comm_kind("alltoall_base"), CommKind::all_to_allv);
  EXPECT_EQ(comm_kind("recvAnySource"), CommKind::recv);
  EXPECT_EQ(comm_kind("reduce_scatter_tensor_coalesced"), CommKind::reduce_scatter_coalesced);
  EXPECT_EQ(comm_kind("wait"), CommKind::wait);
}

TEST(ReplayCommKind, LeavesTheRestUnknown) {
  for (std::string_view name : {"", "allreduce_and_more", "coalesced", "42", "allred"})
    EXPECT_EQ(comm_kind(name), CommKind::unknown) << name;
}

// Would fail if any spelling of "any source" were a receive from rank 0, or if two letters in a
// name were enough to take messages from every rank.
TEST(ReplayCommKind, TakesAnySourceByTheWholeName) {
  for (std::string_view name :
       {"recvAnySource", "recv_any_source", "recvanysource", "RECVANYSOURCE", "RecvAnYSource_0"}) {
    EXPECT_EQ(comm_kind(name), CommKind::recv) << name;
    EXPECT_TRUE(takes_any_source(name)) << name;
  }
  for (std::string_view name : {"recv", "irecv", "send", "recv_any", "many_recvs", "anysource", ""})
    EXPECT_FALSE(takes_any_source(name)) << name;
}

// Would fail if the names stood in another order than the kinds.
TEST(ReplayCommKind, NamesLeadBackToTheirKinds) {
  for (int value = 0; value <= int(CommKind::init); ++value)
    EXPECT_EQ(comm_kind(to_string(CommKind(value))), CommKind(value));
}

TEST(ReplayCommKind, SaysWhatMovesData) {
  EXPECT_TRUE(has_data(CommKind::all_to_allv));
  EXPECT_TRUE(has_data(CommKind::send));
  for (CommKind kind : {CommKind::wait, CommKind::barrier, CommKind::init, CommKind::unknown})
    EXPECT_FALSE(has_data(kind)) << to_string(kind);
  EXPECT_TRUE(is_message(CommKind::recv));
  EXPECT_FALSE(is_message(CommKind::broadcast));
}

}  // namespace

}  // namespace simmesh::replay
