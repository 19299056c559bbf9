"""executables"""
