"""proving"""
