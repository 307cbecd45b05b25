#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "core/check/check.h"

namespace simmesh {

// CollectiveOp names the joint operations of a group. docs/collectives.md has the steps and bytes
// of each.
enum class CollectiveOp : std::uint8_t {
  barrier,
  all_reduce,
  all_gather,       // pieces concatenated along dim
  all_gather_list,  // pieces as a list
  reduce_scatter,   // reduced, then cut along dim
  broadcast,
  broadcast_object,  // bytes whose number only the root knows
  reduce,
  scatter,
  gather,
  all_to_all,       // cut along scatter_dim, exchanged, concatenated along dim
  all_to_all_list,  // lists of pieces
  last = all_to_all_list,
};

// CollectiveOperands are the properties that the operands of the members must share.
enum class CollectiveOperands : std::uint8_t {
  of_one_shape,   // dtypes and shapes
  of_any_shape,   // dtypes
  of_root_alone,  // nothing: only the operands of the root count
};

// FabricBytes is the number of bytes that all members together send on a real fabric. n is the
// number of members, b the bytes of one member's operands, b_i those of member i, B those of all, r
// the root.
enum class FabricBytes : std::uint8_t {
  none,
  operand_to_others_twice,  // 2(n-1) b
  operand_to_others,        // (n-1) b
  all_to_others,            // (n-1) B
  root_to_others,           // (n-1) b_r
  parts_of_root,            // b_r less the root's own piece
  all_to_root,              // B - b_r
  even_parts,               // the sum of b_i - b_i/n; with splits B less what each member keeps
  listed_parts,             // B less what each member keeps
};

// CollectivePrice names the formula of Topology that prices a collective. A collective without a
// formula of its own costs as another one that moves as much: a broadcast as an all-gather, for
// instance.
enum class CollectivePrice : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather_of_pieces,
  all_gather_of_whole,
  all_to_all,
};

// CollectiveFacts are the properties of a collective that don't depend on its operands.
struct CollectiveFacts {
  CollectiveOp op;
  const char* name;           // in traces and errors
  bool reduces = false;       // combines elements of several members by a ReduceOp
  bool has_root = false;      // one member gives or gets data that the others don't
  bool takes_dim = false;     // cuts operands, or concatenates them, along a dim
  bool concatenates = false;  // operands, which may differ in size along that dim
  CollectiveOperands operands = CollectiveOperands::of_one_shape;
  std::string_view steps;  // hops that follow one another in the assumed algorithm
  FabricBytes bytes = FabricBytes::none;
  CollectivePrice price;
  int tree_passes = 0;  // up or down a tree, where its members may form one instead of a ring
};

// collective_facts has a row for each collective, in the order of CollectiveOp.
inline constexpr CollectiveFacts collective_facts[] = {
    {.op = CollectiveOp::barrier,
     .name = "barrier",
     .steps = "-",
     .price = CollectivePrice::all_reduce,
     .tree_passes = 2},
    {.op = CollectiveOp::all_reduce,
     .name = "all_reduce",
     .reduces = true,
     .steps = "2(n-1)",
     .bytes = FabricBytes::operand_to_others_twice,
     .price = CollectivePrice::all_reduce,
     .tree_passes = 2},
    {.op = CollectiveOp::all_gather,
     .name = "all_gather",
     .takes_dim = true,
     .concatenates = true,
     .steps = "n-1",
     .bytes = FabricBytes::all_to_others,
     .price = CollectivePrice::all_gather_of_pieces},
    {.op = CollectiveOp::all_gather_list,
     .name = "all_gather_list",
     .operands = CollectiveOperands::of_any_shape,
     .steps = "n-1",
     .bytes = FabricBytes::all_to_others,
     .price = CollectivePrice::all_gather_of_pieces},
    {.op = CollectiveOp::reduce_scatter,
     .name = "reduce_scatter",
     .reduces = true,
     .takes_dim = true,
     .steps = "n-1",
     .bytes = FabricBytes::operand_to_others,
     .price = CollectivePrice::reduce_scatter},
    {.op = CollectiveOp::broadcast,
     .name = "broadcast",
     .has_root = true,
     .steps = "1",
     .bytes = FabricBytes::root_to_others,
     .price = CollectivePrice::all_gather_of_whole,
     .tree_passes = 1},
    {.op = CollectiveOp::broadcast_object,
     .name = "broadcast_object",
     .has_root = true,
     .operands = CollectiveOperands::of_root_alone,
     .steps = "1",
     .bytes = FabricBytes::root_to_others,
     .price = CollectivePrice::all_gather_of_whole},
    {.op = CollectiveOp::reduce,
     .name = "reduce",
     .reduces = true,
     .has_root = true,
     .steps = "1",
     .bytes = FabricBytes::operand_to_others,
     .price = CollectivePrice::reduce_scatter,
     .tree_passes = 1},
    {.op = CollectiveOp::scatter,
     .name = "scatter",
     .has_root = true,
     .operands = CollectiveOperands::of_root_alone,
     .steps = "1",
     .bytes = FabricBytes::parts_of_root,
     .price = CollectivePrice::all_gather_of_whole},
    {.op = CollectiveOp::gather,
     .name = "gather",
     .has_root = true,
     .operands = CollectiveOperands::of_any_shape,
     .steps = "1",
     .bytes = FabricBytes::all_to_root,
     .price = CollectivePrice::all_gather_of_pieces},
    {.op = CollectiveOp::all_to_all,
     .name = "all_to_all",
     .takes_dim = true,
     .concatenates = true,
     .steps = "1",
     .bytes = FabricBytes::even_parts,
     .price = CollectivePrice::all_to_all},
    {.op = CollectiveOp::all_to_all_list,
     .name = "all_to_all_list",
     .operands = CollectiveOperands::of_any_shape,
     .steps = "1",
     .bytes = FabricBytes::listed_parts,
     .price = CollectivePrice::all_to_all},
};
inline constexpr std::size_t collective_op_count = std::size(collective_facts);

static_assert(
    [] {
      for (std::size_t i = 0; i < collective_op_count; ++i)
        if (collective_facts[i].op != CollectiveOp(i)) return false;
      return collective_op_count == std::size_t(CollectiveOp::last) + 1;
    }(),
    "collective_facts has one row for each CollectiveOp, in their order");

// facts_of returns the row of a collective.
inline const CollectiveFacts& facts_of(CollectiveOp op) {
  SIMMESH_CHECK(std::size_t(op) < collective_op_count, "unknown CollectiveOp {}", int(op));
  return collective_facts[std::size_t(op)];
}

// name_of returns the literal that traces and errors show: "all_reduce".
inline const char* name_of(CollectiveOp op) { return facts_of(op).name; }

// collective_op_named returns the collective of a name, nullopt where there is none.
std::optional<CollectiveOp> collective_op_named(std::string_view name);

// to_string returns the formula as docs/collectives.md has it.
std::string_view to_string(FabricBytes bytes);

}  // namespace simmesh
