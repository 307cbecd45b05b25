#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "checkpoint/torch_file/pickle.h"

namespace simmesh::checkpoint {

// set_to_call makes a node of what a class or function returns for its arguments: a container or
// bytes if that is known, else an object. It runs nothing. A container takes the entries of its
// argument. `copies_left` counts down how many more may be taken, so that a small pickle makes no
// large values. If too few are left, the node is an object.
void set_to_call(PickleNode& node, PickleValue callable, PickleValue arguments,
                 std::size_t& copies_left);

// current_name returns the name that Python 3 and NumPy 2 have for a class: "builtins.set" for
// "__builtin__.set".
std::string current_name(std::string_view module, std::string_view name);

// These make a node of a number as text: "12", "12L" or "0x1f"; false if it is none. The little
// end of the bytes of an integer comes first, and the sign is the highest bit.
bool set_to_digits(PickleNode& node, std::string_view digits);
void set_to_integer(PickleNode& node, std::string_view little_endian);

// These decode texts of protocol 0. `unquoted` decodes a quoted one with the escapes of Python's
// repr; false if it isn't quoted. `unescaped` decodes \u and \U.
bool unquoted(std::string_view line, std::string& text);
std::string unescaped(std::string_view line);

}  // namespace simmesh::checkpoint
