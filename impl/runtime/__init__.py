"""What runs compiled programs: toolchains, the compile cache, devices."""
