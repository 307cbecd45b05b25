#!/bin/bash
# Runs tests on ranks in as many workers as there are processors:
#   pytest_xdist.sh tests
# A worker that has no test left takes some of another one, since schedules take their time.
set -eu
exec python -m pytest --numprocesses auto --dist worksteal "$@"
