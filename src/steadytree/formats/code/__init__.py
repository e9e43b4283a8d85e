"""Trees as programs: SQL, Python, C, JavaScript and R."""
