// The two functions that cannot be ordinary C++: vfork, whose caller's frame must survive a second
// return, and syscall, whose arguments must pass untouched unless the number is one that we record.
// Must not use the stack of the caller.
#include <errno.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

#include "interpose/guard.h"
#include "interpose/real.h"

namespace chokepoint::interpose {

static_assert(offsetof(RealCalls, syscall) % sizeof(void*) == 0);

// 1 for system calls that HookSyscall (raw_syscalls.cc) wants to see. Filled when the library is
// loaded.
extern "C" __attribute__((visibility("hidden"))) std::uint8_t chokepoint_syscall_wanted[512];
// The next `syscall` in link order.
extern "C" __attribute__((visibility("hidden"))) long (*chokepoint_real_syscall)(long, ...);

extern "C" __attribute__((visibility("hidden"), used)) int chokepoint_vfork_failed(long error) {
  errno = static_cast<int>(-error);
  return -1;
}

#if defined(__x86_64__)

// The child borrows our caller's stack: the return address waits in a register while it runs.
// Registers survive the system call in both processes; the flag that was there before (a vfork in a
// vfork child) waits in r8.
__asm__(R"(
    .text
    .globl vfork
    .type vfork, @function
vfork:
    .cfi_startproc
    endbr64
    popq %rdi
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rdi
    movq chokepoint_vforked@gottpoff(%rip), %rsi
    movl %fs:(%rsi), %r8d
    movl $58, %eax
    syscall
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rip, -8
    testq %rax, %rax
    js 2f
    jnz 1f
    movl $1, %fs:(%rsi)
    ret
1:  movl %r8d, %fs:(%rsi)
    ret
2:  movq %rax, %rdi
    jmp chokepoint_vfork_failed
    .cfi_endproc
    .size vfork, .-vfork

    .globl syscall
    .type syscall, @function
syscall:
    .cfi_startproc
    endbr64
    cmpq $512, %rdi
    jae 1f
    leaq chokepoint_syscall_wanted(%rip), %rax
    cmpb $0, (%rax,%rdi)
    jne chokepoint_hook_syscall
1:  movq chokepoint_real_syscall(%rip), %rax
    jmp *%rax
    .cfi_endproc
    .size syscall, .-syscall
)");

#elif defined(__aarch64__)

__asm__(R"(
    .text
    .globl vfork
    .type vfork, %function
vfork:
    .cfi_startproc
    hint #34
    mrs x9, tpidr_el0
    adrp x10, :gottprel:chokepoint_vforked
    ldr x10, [x10, #:gottprel_lo12:chokepoint_vforked]
    add x9, x9, x10
    ldr w11, [x9]
    mov x0, #0x4111
    mov x1, #0
    mov x2, #0
    mov x3, #0
    mov x4, #0
    mov x8, #220
    svc #0
    tbnz x0, #63, 2f
    cbnz x0, 1f
    mov w12, #1
    str w12, [x9]
    ret
1:  str w11, [x9]
    ret
2:  b chokepoint_vfork_failed
    .cfi_endproc
    .size vfork, .-vfork

    .globl syscall
    .type syscall, %function
syscall:
    .cfi_startproc
    hint #34
    cmp x0, #512
    b.hs 1f
    adrp x16, chokepoint_syscall_wanted
    add x16, x16, :lo12:chokepoint_syscall_wanted
    ldrb w16, [x16, x0]
    cbnz w16, 2f
1:  adrp x16, chokepoint_real_syscall
    ldr x16, [x16, :lo12:chokepoint_real_syscall]
    br x16
2:  b chokepoint_hook_syscall
    .cfi_endproc
    .size syscall, .-syscall
)");

#endif

}  // namespace chokepoint::interpose
