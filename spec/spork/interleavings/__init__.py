"""interleavings"""
