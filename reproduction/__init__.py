"""The paper's experiments on public data: data, runs, tables and figures."""
