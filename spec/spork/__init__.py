"""
Spork
=====

Explicit CUDA threads, memories and synchronization over a sequential language. Read `language`, then `threads`,
`synchronization` and `library`; `static` refuses programs, `machine` says what they do, `interleavings` and `readings`
run them, `diagnosis` explains hazards.
"""
