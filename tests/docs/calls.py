# SPDX-License-Identifier: Apache-2.0
"""calls.py - which functions of our programs a command really calls, it and every process it starts.

A breakpoint is put on the first byte of each wanted function of each program as it is executed (ptrace); one
that was hit is taken away, so that the command runs at its usual speed. Programs need their symbols. x86_64 only.
"""
import ctypes
import os
import signal
import subprocess

TRACEME, PEEK, POKE, CONT, GETREGS, SETREGS, SETOPTIONS = 0, 1, 4, 7, 12, 13, 0x4200
OPTIONS = 0x02 | 0x04 | 0x08 | 0x10 | 0x100000    # fork, vfork, clone, exec; all end with us
EVENT_EXEC = 4
RIP, WORDS = 16, 27                      # in struct user_regs_struct
TRAP = 0xCC
WALL = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, address=0, data=0):
    ctypes.set_errno(0)
    value = libc.ptrace(request, pid, address, data)
    if value == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value & 0xFFFFFFFFFFFFFFFF


def swap_byte(pid, address, byte):
    word = ptrace(PEEK, pid, address)
    ptrace(POKE, pid, address, (word & ~0xFF) | byte)
    return word & 0xFF


class Tracer:
    def __init__(self, programs, wanted):
        self.called, self.symbols, self.breakpoints = set(), {}, {}
        for program in map(os.path.realpath, programs):
            rows = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout
            rows = [line.split() for line in rows.splitlines()]
            self.symbols[program] = {row[2]: int(row[0], 16) for row in rows
                                     if len(row) == 3 and row[1] in "tT" and row[2] in wanted}

    def base_of(self, pid, program):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            return next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(program))

    def begin_program(self, pid):
        program = os.readlink(f"/proc/{pid}/exe")
        if program not in self.symbols:
            return
        base = self.base_of(pid, program)
        for name, offset in self.symbols[program].items():
            was = swap_byte(pid, base + offset, TRAP)
            if was != TRAP:
                self.breakpoints[program, base + offset] = (name, was)

    def hit(self, pid):
        """True: the process stands at one of ours, which is gone now."""
        registers = (ctypes.c_ulonglong * WORDS)()
        ptrace(GETREGS, pid, 0, ctypes.addressof(registers))
        address = registers[RIP] - 1
        found = self.breakpoints.get((os.readlink(f"/proc/{pid}/exe"), address))
        if not found:
            return False
        self.called.add(found[0])
        swap_byte(pid, address, found[1])
        registers[RIP] = address
        ptrace(SETREGS, pid, 0, ctypes.addressof(registers))
        return True

    def stopped(self, pid, status):
        """The signal that the process goes on with."""
        which, event = os.WSTOPSIG(status), status >> 16
        if event == EVENT_EXEC:
            self.begin_program(pid)
        if event or which == signal.SIGSTOP:
            return 0
        if which == signal.SIGTRAP:
            return 0 if self.hit(pid) else which
        return which

    def run(self, command, env):
        """Runs the command and everything it starts to the end; its exit status."""
        first = os.fork()
        if first == 0:
            libc.ptrace(TRACEME, 0, None, None)
            os.kill(os.getpid(), signal.SIGSTOP)
            os.execvpe(command[0], command, env)
        os.waitpid(first, 0)
        ptrace(SETOPTIONS, first, 0, OPTIONS)
        ptrace(CONT, first)
        code = None
        while True:
            try:
                pid, status = os.waitpid(-1, WALL)
            except ChildProcessError:
                return code
            if os.WIFSTOPPED(status):
                try:
                    ptrace(CONT, pid, 0, self.stopped(pid, status))
                except (OSError, StopIteration):        # it was killed meanwhile
                    pass
            elif pid == first:
                code = os.waitstatus_to_exitcode(status)
