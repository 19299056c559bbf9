"""Translation validation of the rewrite engine."""
