"""scalars"""
