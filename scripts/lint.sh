# The subcommands of ./dev that check and mend the form of sources: format, lint and tidy.
# shellcheck shell=bash

# do_format formats C++ and Python. With --check it does both, even if the first finds something.
do_format() {
  local cpp=(-i) order=(--fix) layout=() status=0
  case ${1:-} in
    '') ;;
    --check) cpp=(--dry-run -Werror) order=() layout=(--check) ;;
    *) refuse "format: expected --check or nothing, got '$1'" ;;
  esac
  need "${format_packages[@]}"
  need_environment python || refuse "format: could not install ruff"
  (cd "$root" && find . \( -name build -o -name .git -o -path ./tests/cases \) -prune -o \
    -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.c' \) -print0 |
    xargs -0 -P "$jobs" -n 16 "clang-format-$clang" "${cpp[@]}") || status=1
  (cd "$root" && "$root/build/python/bin/ruff" check --quiet --select I "${order[@]}") || status=1
  (cd "$root" && "$root/build/python/bin/ruff" format --quiet "${layout[@]}") || status=1
  return $status
}

do_lint() {
  case ${1:-} in
    --all | '') ;;
    --since) [ $# = 2 ] || refuse "lint: expected a commit after --since" ;;
    *) refuse "lint: expected --all, --since REV or nothing, got '$1'" ;;
  esac
  need "${format_packages[@]}" "${tidy_packages[@]}"
  # The types of the C++ side are those of the module's stub.
  build release simmesh_python_stub
  build debug simmesh_headers
  if [ "${1:-}" = --all ]; then build clang simmesh_headers; fi
  has_module || refuse "lint: the Python module could not be built"
  cd "$root"
  stage "format" do_format --check
  stage "shellcheck" build/python/bin/shellcheck --external-sources --check-sourced dev .ci/run
  stage "ruff" build/python/bin/ruff check
  stage "mypy" build/python/bin/mypy
  stage "compile apart" python3 scripts/compile_apart.py "$@"
  stage "clang-tidy" python3 scripts/tidy.py --program "clang-tidy-$clang" "$@"
  sum_up "lint"
}

do_tidy() {
  need "${tidy_packages[@]}"
  build release tidy_test
  if [ $# = 0 ]; then
    build release simmesh_python
    build clang simmesh_headers
    set -- --all
  else
    build debug simmesh_headers
  fi
  stage "tidy test" "$root/build/release/bin/tidy_test" --gtest_brief=1
  stage "clang-tidy" python3 "$root/scripts/tidy.py" --program "clang-tidy-$clang" "$@"
  sum_up "tidy"
}
