"""
Devices
=======

Programs on several devices: what each device holds, and how values move between devices.

In order: `transfers`, `evaluation`.
Doors: `evaluation`.
"""
