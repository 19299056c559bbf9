"""The rewrite rules of my compiler."""
