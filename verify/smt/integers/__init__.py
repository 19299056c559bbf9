"""integers"""
