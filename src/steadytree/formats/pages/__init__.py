"""Trees for people: Markdown and graphs."""
