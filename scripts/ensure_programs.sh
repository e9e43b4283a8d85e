#!/bin/sh
# Some tests drive real programs: a browser for the report, and whatever runs an exported tree
# (node, a C compiler, R, Java for a PMML evaluator, Graphviz for pictures). Install what is
# missing where that is possible, and say so where it is not: those tests then skip, unless
# STEADYTREE_REQUIRE_PROGRAMS=1.
set -u

lacking=""
need() { # need PACKAGE COMMAND...: one of the commands, or the Debian package
    package=$1
    shift
    for name in "$@"; do
        if command -v "$name" >/dev/null 2>&1; then
            return
        fi
    done
    lacking="$lacking $package"
}

need chromium chromium chromium-browser google-chrome
need nodejs node
need gcc gcc
need libc6-dev gcc
need r-base-core Rscript
need default-jre-headless java
need graphviz dot
if [ -z "$lacking" ]; then
    exit 0
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing for the tests:$lacking"
    log=$(mktemp)
    # shellcheck disable=SC2086
    if { apt-get update &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $lacking
    } >"$log" 2>&1; then
        rm -f "$log"
        exit 0
    fi
    tail -n 5 "$log"
    rm -f "$log"
fi

echo "not found, so the tests that need them skip:$lacking (names of Debian's packages)"
