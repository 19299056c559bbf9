"""goals"""
