"""compositions"""
