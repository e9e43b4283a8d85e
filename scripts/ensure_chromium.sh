#!/bin/sh
# The browser tests drive Debian's `chromium`. Install it where that is possible, and say what is
# missing where it is not: the tests then skip, unless STEADYTREE_REQUIRE_BROWSER=1.
set -u

for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing chromium for the browser tests"
    log=$(mktemp)
    if { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium; } >"$log" 2>&1
    then
        rm -f "$log"
        exit 0
    fi
    tail -n 5 "$log"
    rm -f "$log"
fi

echo "no chromium found: the browser tests need the package 'chromium' (apt-get install chromium)"
