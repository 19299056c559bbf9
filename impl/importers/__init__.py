"""Programs from elsewhere, as tensor programs of our own."""
