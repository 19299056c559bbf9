"""The rows of the comparison with peers, and what measures them."""
