#!/bin/bash
# Runs gates in as many processes as there are processors, and prints what one run prints:
#   gnu_parallel.sh gates/*.toml
set -u
shards=$(nproc)
results=$(mktemp -d)
# A shard with a failed check ends with 1, and the report of all shows it.
parallel --halt soon,fail=1 \
  "simmesh run --quiet --shard {}/$shards --results $results/{}.jsonl $* || test \$? = 1" \
  ::: $(seq "$shards") > /dev/null || exit 2
simmesh merge "$results"/*.jsonl
status=$?
rm -r "$results"
exit $status
