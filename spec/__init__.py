"""The law: what every op means, which nodes are well formed, and which rewrites may be stated."""
