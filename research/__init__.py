"""What was measured: the paper regenerated, benchmarks, faults tried; not in the wheel."""
