/* SPDX-License-Identifier: Apache-2.0 */
/* trust_packed.S - the authorities a static program believes where the image names none (static/trust). */
    .section .rodata
    .balign 16
    .globl sw_trust_packed, sw_trust_packed_end
    .hidden sw_trust_packed, sw_trust_packed_end
sw_trust_packed:
#ifdef SW_TRUST_BUNDLE
    .incbin SW_TRUST_BUNDLE
#endif
sw_trust_packed_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
