#include "core/ops/functions/einsum.h"

#include <algorithm>
#include <string>

#include "core/check/error.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

// A term is the letters of an operand or of the result, one a dim. The dims that an ellipsis stands
// for have the letters '0', '1', ... counted from the last one, so that they line up.
struct Term {
  std::string letters;
  bool has_ellipsis = false;
};

// ellipsis_letters returns the letters of that many dims, first dim first.
std::string ellipsis_letters(std::int64_t dims) {
  std::string letters;
  while (dims-- > 0) letters.push_back(char('0' + dims));
  return letters;
}

// parsed_term reads one term. dims is the number of dims of its operand; for the result it is the
// number of dims that an ellipsis stands for, plus its letters.
Term parsed_term(std::string_view text, std::int64_t dims) {
  Term term;
  std::string letters;
  std::size_t ellipsis_at = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "..." && !term.has_ellipsis) {
      term.has_ellipsis = true;
      ellipsis_at = letters.size();
      i += 2;
    } else if (std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
                   .find(text[i]) != std::string_view::npos) {
      letters.push_back(text[i]);
    } else {
      raise(ErrorKind::runtime_error, "einsum",
            "invalid subscript given at index {} in the equation string '{}', subscripts must be "
            "in [a-zA-Z]",
            i, text);
    }
  }
  std::int64_t left = dims - std::int64_t(letters.size());
  if (left < 0 || (left > 0 && !term.has_ellipsis) || left > 9)
    raise(ErrorKind::runtime_error, "einsum",
          "the number of subscripts in the equation ({}) does not match the number of dimensions "
          "({}) for an operand",
          letters.size(), dims);
  if (term.has_ellipsis) letters.insert(ellipsis_at, ellipsis_letters(left));
  term.letters = std::move(letters);
  return term;
}

bool holds(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

// Returns the letters that occur once in all operands, sorted, after the ellipsis: the result where
// the equation has no arrow.
std::string implied_result(const std::vector<Term>& terms) {
  std::string all, ellipsis, once;
  for (const Term& term : terms) all += term.letters;
  for (char digit = '9'; digit >= '0'; --digit)
    if (holds(all, digit)) ellipsis.push_back(digit);
  std::sort(all.begin(), all.end());
  for (char letter : all)
    if (letter > '9' && std::count(all.begin(), all.end(), letter) == 1) once.push_back(letter);
  return ellipsis + once;
}

// Operand is a tensor and the letters of its dims.
struct Operand {
  Tensor tensor;
  std::string letters;

  std::int64_t size(char letter) const {
    std::size_t at = letters.find(letter);
    return at == std::string::npos ? 1 : tensor.shape()[at];
  }
};

// A letter that occurs twice in an operand means its diagonal.
void take_diagonals(Operand& operand) {
  for (std::size_t first = 0; first < operand.letters.size();) {
    std::size_t second = operand.letters.find(operand.letters[first], first + 1);
    if (second == std::string::npos) {
      ++first;
      continue;
    }
    char letter = operand.letters[first];
    if (operand.tensor.shape()[first] != operand.tensor.shape()[second])
      raise(ErrorKind::runtime_error, "einsum",
            "subscript {} is repeated for an operand but the sizes don't match, {} != {}", letter,
            operand.tensor.shape()[second], operand.tensor.shape()[first]);
    operand.tensor =
        diagonal(operand.tensor, {.dim0 = std::int64_t(first), .dim1 = std::int64_t(second)});
    operand.letters.erase(second, 1);
    operand.letters.erase(first, 1);
    operand.letters.push_back(letter);
  }
}

// Sums over the letters that nothing else needs, before the product.
void sum_unneeded(Operand& operand, const std::string& needed) {
  Dims dims;
  std::string kept;
  for (std::size_t i = 0; i < operand.letters.size(); ++i) {
    if (holds(needed, operand.letters[i]))
      kept.push_back(operand.letters[i]);
    else
      dims.push_back(std::int64_t(i));
  }
  if (dims.empty()) return;
  operand.tensor = sum(operand.tensor, dims);
  operand.letters = kept;
}

Tensor in_order(const Operand& operand, const std::string& letters) {
  Dims order;
  for (char letter : letters) order.push_back(std::int64_t(operand.letters.find(letter)));
  return std::is_sorted(order.begin(), order.end()) ? operand.tensor
                                                    : permute(operand.tensor, order);
}

// The letters of a product by their role in it.
struct Roles {
  std::string batch;
  std::string left;
  std::string right;
  std::string summed;
};

Roles roles_of(const Operand& a, const Operand& b, const std::string& result) {
  Roles roles;
  for (char letter : a.letters) {
    if (!holds(b.letters, letter))
      roles.left.push_back(letter);
    else
      (holds(result, letter) ? roles.batch : roles.summed).push_back(letter);
  }
  for (char letter : b.letters)
    if (!holds(a.letters, letter)) roles.right.push_back(letter);
  return roles;
}

void check_sizes(const Operand& a, const Operand& b, const Roles& roles) {
  for (char letter : roles.batch + roles.summed)
    if (a.size(letter) != b.size(letter) && a.size(letter) != 1 && b.size(letter) != 1)
      raise(ErrorKind::runtime_error, "einsum",
            "operands do not broadcast with remapped shapes: subscript {} has the sizes {} and {}",
            letter, a.size(letter), b.size(letter));
}

std::int64_t common_size(const Operand& a, const Operand& b, char letter) {
  return a.size(letter) == 1 ? b.size(letter) : a.size(letter);
}

// groups_of returns an operand as a batch of matrices of the three groups of letters.
Tensor groups_of(const Operand& operand, const Operand& other,
                 std::initializer_list<std::string> groups) {
  std::string letters;
  Shape whole, grouped;
  for (const std::string& group : groups) {
    std::int64_t count = 1;
    for (char letter : group) {
      whole.push_back(common_size(operand, other, letter));
      count *= whole.back();
    }
    grouped.push_back(count);
    letters += group;
  }
  return reshape(expand(in_order(operand, letters), whole), grouped);
}

// spread_over returns an operand with a dim for each letter, of size one where it has none.
Tensor spread_over(const Operand& operand, const std::string& letters) {
  std::string own;
  for (char letter : letters)
    if (holds(operand.letters, letter)) own.push_back(letter);
  Tensor result = in_order(operand, own);
  for (std::size_t dim = 0; dim < letters.size(); ++dim)
    if (!holds(own, letters[dim])) result = unsqueeze(result, std::int64_t(dim));
  return result;
}

Tensor contracted(const Operand& a, const Operand& b, const std::string& result) {
  Roles roles = roles_of(a, b, result);
  check_sizes(a, b, roles);
  // Without summed letters it is an elementwise product.
  if (roles.summed.empty()) return mul(spread_over(a, result), spread_over(b, result));
  Tensor left = groups_of(a, b, {roles.batch, roles.left, roles.summed});
  Tensor right = groups_of(b, a, {roles.batch, roles.summed, roles.right});
  Tensor product = roles.batch.empty() ? mm(reshape(left, DimSpan(left.shape()).subspan(1)),
                                            reshape(right, DimSpan(right.shape()).subspan(1)))
                                       : bmm(left, right);
  std::string letters = roles.batch + roles.left + roles.right;
  Shape shape;
  for (char letter : letters) shape.push_back(common_size(a, b, letter));
  return in_order({reshape(product, shape), letters}, result);
}

}  // namespace

Tensor einsum(std::string_view equation, gsl::span<const Tensor> operands) {
  if (operands.empty() || operands.size() > 2)
    raise(ErrorKind::value_error, "einsum", "expected one or two operands, got {}",
          operands.size());
  std::size_t arrow = equation.find("->");
  std::string_view inputs = equation.substr(0, arrow);
  if (std::size_t(std::count(inputs.begin(), inputs.end(), ',')) + 1 != operands.size())
    raise(ErrorKind::runtime_error, "einsum",
          "the equation '{}' doesn't have as many terms as there are operands: {}", equation,
          operands.size());
  std::vector<Term> terms;
  std::int64_t ellipsis_dims = 0;
  for (const Tensor& operand : operands) {
    std::size_t comma = std::min(inputs.find(','), inputs.size());
    terms.push_back(parsed_term(inputs.substr(0, comma), operand.dim()));
    inputs.remove_prefix(std::min(comma + 1, inputs.size()));
    const std::string& letters = terms.back().letters;
    ellipsis_dims = std::max<std::int64_t>(
        ellipsis_dims,
        std::count_if(letters.begin(), letters.end(), [](char c) { return c <= '9'; }));
  }
  std::string result;
  if (arrow == std::string_view::npos) {
    result = implied_result(terms);
  } else {
    std::string_view text = equation.substr(arrow + 2);
    bool has_ellipsis = text.find("...") != std::string_view::npos;
    auto letters =
        std::count_if(text.begin(), text.end(), [](char c) { return c != '.' && c != ' '; });
    result = parsed_term(text, letters + (has_ellipsis ? ellipsis_dims : 0)).letters;
  }
  for (char letter : result)
    if (std::count(result.begin(), result.end(), letter) != 1 ||
        std::none_of(terms.begin(), terms.end(),
                     [&](const Term& term) { return holds(term.letters, letter); }))
      raise(ErrorKind::runtime_error, "einsum",
            "output subscript {} appears more than once in the output, or in no operand", letter);
  std::vector<Operand> parts;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    parts.push_back({operands[i], terms[i].letters});
    take_diagonals(parts.back());
  }
  if (parts.size() == 1) {
    sum_unneeded(parts[0], result);
    return in_order(parts[0], result);
  }
  sum_unneeded(parts[0], result + parts[1].letters);
  sum_unneeded(parts[1], result + parts[0].letters);
  return contracted(parts[0], parts[1], result);
}

}  // namespace simmesh
