"""waterline"""
