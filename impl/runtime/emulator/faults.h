// faults.h: a thread that touches memory which is not there, or divides by zero, ends the run and not the process.
//
// While a kernel runs, the signals of such faults are caught on a stack of their own; the thread is made to go on in
// `fault_lands`, on another stack, which reports and gives up its turn for good.
#pragma once

#include <pthread.h>
#include <signal.h>

#include "products.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <ucontext.h>

namespace soundline_emulator {

inline int fault_signal;
inline void *fault_address;
alignas(64) inline char fault_stack[64 << 10], signal_stack[64 << 10];
inline struct sigaction faults_before[3];
inline stack_t stack_before;
inline pthread_t kernels_run_on;
constexpr int FAULTS[] = {SIGSEGV, SIGBUS, SIGFPE};

[[noreturn]] inline void fault_lands() {
    Fiber *self = machine.running;
    char *const at = static_cast<char *>(fault_address);
    if (fault_signal == SIGFPE)
        report(self, self->line, "fault", "an integer division by zero, after what this line does");
    else if (at < machine.stacks.bottom(self->stack) && machine.stacks.bottom(self->stack) - at < 64 * std::ptrdiff_t(STACK))
        report(self, self->line, "fault", "the stack of the thread overflows its %zu bytes, after what this line does", STACK);
    else
        report(self, self->line, "fault", "an access to address %p, where no memory is, after what this line does", fault_address);
    leave();
}
inline void on_fault(int signal, siginfo_t *information, void *context) {
    if (signal == SIGSEGV && first_write(information->si_addr)) return;
    if (!machine.running || !pthread_equal(pthread_self(), kernels_run_on)) {
        // Not a thread of a kernel: as if nobody had caught it.
        for (int i = 0; i < 3; ++i)
            if (FAULTS[i] == signal) sigaction(signal, &faults_before[i], nullptr);
        return;
    }
    fault_signal = signal;
    fault_address = information->si_addr;
    auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext;
    auto const stack = reinterpret_cast<uintptr_t>(fault_stack + sizeof fault_stack) - 64;
#if defined(__x86_64__)
    registers.gregs[REG_RSP] = greg_t(stack - 8);
    registers.gregs[REG_RIP] = greg_t(reinterpret_cast<uintptr_t>(&fault_lands));
#else
    registers.sp = stack;
    registers.pc = reinterpret_cast<uintptr_t>(&fault_lands);
#endif
}
inline void catch_faults() {
    kernels_run_on = pthread_self();
    stack_t stack{};
    stack.ss_sp = signal_stack;
    stack.ss_size = sizeof signal_stack;
    sigaltstack(&stack, &stack_before);
    struct sigaction action {};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < 3; ++i) sigaction(FAULTS[i], &action, &faults_before[i]);
}
inline void release_faults() {
    for (int i = 0; i < 3; ++i) sigaction(FAULTS[i], &faults_before[i], nullptr);
    sigaltstack(&stack_before, nullptr);
}

}  // namespace soundline_emulator

#else

namespace soundline_emulator {

inline void catch_faults() {}
inline void release_faults() {}

}  // namespace soundline_emulator

#endif
