// fibers.h: a thread of a kernel is a fiber, which has a stack of its own and runs until it gives up its turn.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#if defined(__ELF__) && defined(__x86_64__)

// Only what a call preserves is saved: rbx, rbp, r12 to r15 and the stack pointer.
extern "C" void soundline_emulated_switch(void **from, void *to);
asm(R"(
.text
.globl soundline_emulated_switch
.hidden soundline_emulated_switch
.type soundline_emulated_switch,@function
soundline_emulated_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size soundline_emulated_switch, .-soundline_emulated_switch
)");

namespace soundline_emulator {

inline void *first_frame(char *top, void (*entry)()) {
    void **frame = reinterpret_cast<void **>(top);
    *--frame = nullptr;  // where the entry would return to; it never does
    *--frame = reinterpret_cast<void *>(entry);
    for (int i = 0; i < 6; ++i) *--frame = nullptr;
    return frame;
}
inline void switch_stacks(void **from, void *to) { soundline_emulated_switch(from, to); }

}  // namespace soundline_emulator

#elif defined(__ELF__) && defined(__aarch64__)

// x19 to x30, d8 to d15 and the stack pointer.
extern "C" void soundline_emulated_switch(void **from, void *to);
asm(R"(
.text
.globl soundline_emulated_switch
.hidden soundline_emulated_switch
.type soundline_emulated_switch,%function
soundline_emulated_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size soundline_emulated_switch, .-soundline_emulated_switch
)");

namespace soundline_emulator {

inline void *first_frame(char *top, void (*entry)()) {
    void **frame = reinterpret_cast<void **>(top) - 20;
    for (int i = 0; i < 20; ++i) frame[i] = nullptr;
    frame[11] = reinterpret_cast<void *>(entry);  // x30, to which the switch returns
    return frame;
}
inline void switch_stacks(void **from, void *to) { soundline_emulated_switch(from, to); }

}  // namespace soundline_emulator

#else

#include <ucontext.h>

namespace soundline_emulator {

// A context lies at the top of its stack, and is what a saved stack pointer points to.
inline void *first_frame(char *top, void (*entry)()) {
    size_t const room = (sizeof(ucontext_t) + 63) / 64 * 64;
    ucontext_t *context = reinterpret_cast<ucontext_t *>(top - room);
    getcontext(context);
    size_t const size = 64 << 10;
    context->uc_stack.ss_sp = top - room - size;
    context->uc_stack.ss_size = size;
    context->uc_link = nullptr;
    makecontext(context, entry, 0);
    return context;
}
inline void switch_stacks(void **from, void *to) {
    ucontext_t here;
    *from = &here;
    swapcontext(&here, static_cast<ucontext_t *>(to));
}

}  // namespace soundline_emulator

#endif

namespace soundline_emulator {

constexpr size_t STACK = 128 << 10;

// Stacks in one mapping, each with a page below it that nobody may touch.
class Stacks {
  public:
    char *top(size_t index) {
        while (index >= made) grow();
        // Tops are spread over the sets of the cache.
        return chunks[index / CHUNK] + (index % CHUNK + 1) * STACK - 64 * (index % 48) - 64;
    }
    char *bottom(size_t index) const { return chunks[index / CHUNK] + index % CHUNK * STACK + page(); }

  private:
    static constexpr size_t CHUNK = 128;
    std::vector<char *> chunks;
    size_t made = 0;
    static size_t page() {
        static size_t const size = size_t(sysconf(_SC_PAGESIZE));
        return size;
    }
    void grow() {
        void *at = mmap(nullptr, CHUNK * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);
        if (at == MAP_FAILED) __builtin_trap();
        for (size_t i = 0; i < CHUNK; ++i) mprotect(static_cast<char *>(at) + i * STACK, page(), PROT_NONE);
        chunks.push_back(static_cast<char *>(at));
        made += CHUNK;
    }
};

}  // namespace soundline_emulator
