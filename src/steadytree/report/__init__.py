"""The decision report: one HTML file that people who do not program can read."""
