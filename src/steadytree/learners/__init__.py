"""Growing trees: bootstrap collections, distillation from a teacher, priced edits."""
