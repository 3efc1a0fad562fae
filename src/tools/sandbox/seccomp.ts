/*
 * A filter for system calls that have no business in a sandbox, as the kernel's little machine wants it (seccomp, classic
 * BPF). It closes what namespaces do not: sockets to the hypervisor, key rings, io_uring (which makes sockets past any
 * filter), and with `unixSockets: false` sockets in the file system.
 */

interface Architecture {
  audit: number
  syscalls: Readonly<Record<'socket' | 'add_key' | 'request_key' | 'keyctl' | 'bpf' | 'perf' | 'userfaultfd', number>>
  /** Numbers from here on are another, older way to call the same machine. */
  otherAbiFrom?: number
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    syscalls: { socket: 41, add_key: 248, request_key: 249, keyctl: 250, bpf: 321, perf: 298, userfaultfd: 323 },
    otherAbiFrom: 0x40000000,
  },
  arm64: {
    audit: 0xc00000b7,
    syscalls: { socket: 198, add_key: 217, request_key: 218, keyctl: 219, bpf: 280, perf: 241, userfaultfd: 282 },
  },
}

const IO_URING = [425, 426, 427]
const AF_UNIX = 1
const AF_VSOCK = 40

const ALLOW = 0x7fff0000
const DENY = 0x00050001
const KILL = 0x80000000

/** The filter for this machine, or nothing where we have none. */
export function createSeccompFilter({ unixSockets }: { unixSockets: boolean }): Buffer | undefined {
  const machine = ARCHITECTURES[process.arch]
  if (!machine) return undefined
  const { socket, ...refused } = machine.syscalls
  const families = unixSockets ? [AF_VSOCK] : [AF_VSOCK, AF_UNIX]
  const program: Instruction[] = [
    load(4),
    ...unlessEqual(machine.audit, KILL),
    load(0),
    ...(machine.otherAbiFrom === undefined ? [] : ifAtLeast(machine.otherAbiFrom, KILL)),
    ...[...Object.values(refused), ...IO_URING].flatMap((call) => ifEqual(call, DENY)),
    // Anything but a socket is fine; of a socket, the family is looked at.
    jumpUnless(socket, 1 + families.length * 2),
    load(16),
    ...families.flatMap((family) => ifEqual(family, DENY)),
    returnAction(ALLOW),
  ]
  return assemble(program)
}

interface Instruction {
  code: number
  jumpTrue: number
  jumpFalse: number
  value: number
}

const load = (offset: number): Instruction => ({ code: 0x20, jumpTrue: 0, jumpFalse: 0, value: offset })
const returnAction = (value: number): Instruction => ({ code: 0x06, jumpTrue: 0, jumpFalse: 0, value })
const jumpUnless = (value: number, over: number): Instruction => ({ code: 0x15, jumpTrue: 0, jumpFalse: over, value })
const ifEqual = (value: number, then: number): Instruction[] => [jumpUnless(value, 1), returnAction(then)]
const unlessEqual = (value: number, then: number): Instruction[] => [
  { code: 0x15, jumpTrue: 1, jumpFalse: 0, value },
  returnAction(then),
]
const ifAtLeast = (value: number, then: number): Instruction[] => [
  { code: 0x35, jumpTrue: 0, jumpFalse: 1, value },
  returnAction(then),
]

function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8)
  for (const [at, { code, jumpTrue, jumpFalse, value }] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8)
    bytes.writeUInt8(jumpTrue, at * 8 + 2)
    bytes.writeUInt8(jumpFalse, at * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, at * 8 + 4)
  }
  return bytes
}
