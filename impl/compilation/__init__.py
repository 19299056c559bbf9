"""compilation"""
