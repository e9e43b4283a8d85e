"""Benchmarks: ratios against peers in one run."""
