"""synchronization"""
