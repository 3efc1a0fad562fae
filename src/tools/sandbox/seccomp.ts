/*
 * A seccomp filter in classic BPF. Blocks what namespaces do not isolate: vsock (sockets to the hypervisor), kernel keyrings,
 * bpf, perf, userfaultfd, io_uring (which creates sockets past a socket filter) and, with `unixSockets: false`, unix sockets. Also memory that
 * belongs to no process, so that no limit counts it: anonymous files (memfd), and System V message queues, large segments and large sets of semaphores.
 * PostgreSQL needs small ones; the kernel limits their number.
 */

interface Architecture {
  audit: number
  syscalls: Readonly<Record<'socket' | 'add_key' | 'request_key' | 'keyctl' | 'bpf' | 'perf' | 'userfaultfd', number>>
  memory: Readonly<Record<'memfd' | 'shmget' | 'semget' | 'msgget', number>>
  /** Syscall numbers from here on belong to another ABI (x32), which would bypass the checks by number. */
  otherAbiFrom?: number
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    syscalls: { socket: 41, add_key: 248, request_key: 249, keyctl: 250, bpf: 321, perf: 298, userfaultfd: 323 },
    memory: { memfd: 319, shmget: 29, semget: 64, msgget: 68 },
    otherAbiFrom: 0x40000000,
  },
  arm64: {
    audit: 0xc00000b7,
    syscalls: { socket: 198, add_key: 217, request_key: 218, keyctl: 219, bpf: 280, perf: 241, userfaultfd: 282 },
    memory: { memfd: 279, shmget: 194, semget: 190, msgget: 186 },
  },
}

const IO_URING = [425, 426, 427]
const MEMFD_SECRET = 447
/** With 4096 segments, the usual limit of a kernel, 16 MB. */
const MAX_SEGMENT_BYTES = 4096
const MAX_SEMAPHORES = 32
const AF_UNIX = 1
const AF_VSOCK = 40

const ALLOW = 0x7fff0000
const DENY = 0x00050001
/** As on a kernel without the call: programs then use a file instead. */
const NOT_IMPLEMENTED = 0x00050026
const KILL = 0x80000000

/** The filter for this CPU architecture; `undefined` if it is not supported. */
export function createSeccompFilter({ unixSockets }: { unixSockets: boolean }): Buffer | undefined {
  const architecture = ARCHITECTURES[process.arch]
  if (!architecture) return undefined
  const { socket, ...denied } = architecture.syscalls
  const { memfd, shmget, semget, msgget } = architecture.memory
  const families = unixSockets ? [AF_VSOCK] : [AF_VSOCK, AF_UNIX]
  const program: Instruction[] = [
    load(4),
    ...unlessEqual(architecture.audit, KILL),
    load(0),
    ...(architecture.otherAbiFrom === undefined ? [] : ifAtLeast(architecture.otherAbiFrom, KILL)),
    ...[...Object.values(denied), ...IO_URING].flatMap((syscall) => ifEqual(syscall, DENY)),
    ...[memfd, MEMFD_SECRET, msgget].flatMap((syscall) => ifEqual(syscall, NOT_IMPLEMENTED)),
    ...limitSecondArgument(shmget, MAX_SEGMENT_BYTES),
    ...limitSecondArgument(semget, MAX_SEMAPHORES),
    // All other syscalls are allowed; for socket(), the address family is checked.
    jumpUnless(socket, 1 + families.length * 2),
    load(16),
    ...families.flatMap((family) => ifEqual(family, DENY)),
    returnAction(ALLOW),
  ]
  return assemble(program)
}

/** A size or number, of 64 bits. */
function limitSecondArgument(syscall: number, max: number): Instruction[] {
  const check = [load(28), ...unlessEqual(0, DENY), load(24), ...ifAtLeast(max + 1, DENY), returnAction(ALLOW)]
  return [jumpUnless(syscall, check.length), ...check]
}

interface Instruction {
  code: number
  jumpTrue: number
  jumpFalse: number
  value: number
}

const load = (offset: number): Instruction => ({ code: 0x20, jumpTrue: 0, jumpFalse: 0, value: offset })
const returnAction = (value: number): Instruction => ({ code: 0x06, jumpTrue: 0, jumpFalse: 0, value })
const jumpUnless = (value: number, skip: number): Instruction => ({ code: 0x15, jumpTrue: 0, jumpFalse: skip, value })
const ifEqual = (value: number, action: number): Instruction[] => [jumpUnless(value, 1), returnAction(action)]
const unlessEqual = (value: number, action: number): Instruction[] => [
  { code: 0x15, jumpTrue: 1, jumpFalse: 0, value },
  returnAction(action),
]
const ifAtLeast = (value: number, action: number): Instruction[] => [
  { code: 0x35, jumpTrue: 0, jumpFalse: 1, value },
  returnAction(action),
]

function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8)
  for (const [index, { code, jumpTrue, jumpFalse, value }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(jumpTrue, index * 8 + 2)
    bytes.writeUInt8(jumpFalse, index * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4)
  }
  return bytes
}
