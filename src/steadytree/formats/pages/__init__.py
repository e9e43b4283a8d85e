"""Trees for people: Excel, Markdown and graphs."""
