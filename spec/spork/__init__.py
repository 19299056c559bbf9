"""spork"""
