"""gradients"""
