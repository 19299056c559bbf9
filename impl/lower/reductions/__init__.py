"""reductions"""
