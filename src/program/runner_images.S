/* SPDX-License-Identifier: Apache-2.0 */
/* runner_images.S - the static runners of both architectures, carried along for other machines. */
    .section .rodata
    .balign 16
    .globl sw_runner_x86_64, sw_runner_x86_64_end, sw_runner_aarch64, sw_runner_aarch64_end
sw_runner_x86_64:
    .incbin SW_RUNNER_X86_64
sw_runner_x86_64_end:
    .balign 16
sw_runner_aarch64:
    .incbin SW_RUNNER_AARCH64
sw_runner_aarch64_end:
    .section .note.GNU-stack, "", %progbits
