#!/usr/bin/env bash
# Refuse a branch whose tree moves farther from main's than main's plan allows.
#
#   docs/guide/gates/pre-merge.sh          # in a clone, on the branch
#
# Ends with 0 (may be merged), 3 (a clause does not hold; gate/report.html says what changed)
# or another code (nothing could be said, so nothing may be merged).
set -euo pipefail

base=${BASE:-main}
tree=${TREE:-model/tree.json}
plan=${PLAN:-plan.toml}
rows=${ROWS:-data/check.csv} # rows that neither tree was trained on
target=${TARGET:-died}

if ! git cat-file -e "$base:$tree" 2>/dev/null; then
    git rev-parse --verify --quiet "$base^{commit}" >/dev/null || {
        echo "expected a branch to compare with, got no '$base'; set BASE" >&2
        exit 2
    }
    echo "$base has no $tree: this is the first one, and there is nothing to compare it with"
    exit 0
fi
if git diff --quiet "$base" -- "$tree"; then
    echo "$tree is that of $base"
    exit 0
fi

deployed=$(mktemp -d)
trap 'rm -rf "$deployed"' EXIT
git show "$base:$tree" >"$deployed/tree.json"
# The plan as the base branch has it: the branch under test cannot loosen it.
git show "$base:$plan" >"$deployed/plan.toml"

steadytree verify "$(dirname "$tree")"
steadytree compare "$deployed/tree.json" "$tree" \
    --data "$rows" --target "$target" --trained-on neither \
    --plan "$deployed/plan.toml" --out gate
