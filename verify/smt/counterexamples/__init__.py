"""counterexamples"""
