# Functions of ./dev that run several checks, whatever becomes of those before, and sum up.
# shellcheck shell=bash

stages=()
is_red=no

# stage NAME COMMAND... runs a command, and keeps what became of it.
stage() {
  local name=$1 start=$SECONDS result=pass
  shift
  echo "== $name"
  "$@" || { result=FAIL is_red=yes; }
  stages+=("$(printf '%s  %5d s  %s' "$result" $((SECONDS - start)) "$name")")
}

# sum_up prints a line for each stage, and fails if one of them did.
sum_up() {
  printf '%s\n' "== $1" "${stages[@]}"
  [ $is_red = no ]
}
