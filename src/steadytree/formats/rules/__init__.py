"""Rules in words, in and out."""
