import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Attempt } from './attempt.ts'
import type { HostFixture } from './host-fixture.ts'

const lateMarker = async ({ workspace }: HostFixture) => {
  await delay(900)
  return existsSync(join(workspace, 'late'))
}

/** Memory of the kernel that no limit counts: a few objects of it are enough to see that they can be created. */
function uncountedObjects(calls: Readonly<Record<string, readonly [create: string, remove: string]>>): Attempt[] {
  return Object.entries(calls).map(([name, [create, remove]]) => ({
    title: `memory exhaustion by ${name}`,
    run: () => `python3 -c '
import ctypes
c = ctypes.CDLL(None)
ids = [c.${create} for _ in range(3)]
for id in ids: c.${remove}
if min(ids) >= 0: print("DID")'`,
    escaped: printedDone,
  }))
}

export const processAttempts: readonly Attempt[] = [
  {
    title: 'the IPC namespace of the host (System V shared memory, semaphores and queues)',
    run: () => 'readlink /proc/self/ns/ipc',
    escaped: (_host, { text }) => text.trim() === readlinkSync('/proc/self/ns/ipc'),
  },
  {
    title: 'reading the command line of a host process',
    run: ({ victim }) => `tr '\\0' ' ' < /proc/${victim.pid}/cmdline`,
    escaped: (_host, { text }) => text.includes('sleep 120'),
  },
  {
    title: 'killing a process of the host',
    run: ({ victim }) => `kill -9 ${victim.pid}`,
    escaped: async ({ victim }) => {
      await delay(50)
      return victim.signalCode !== null
    },
  },
  {
    title: 'a background process in its own session',
    run: () => `setsid sh -c 'sleep 0.5; touch late' > /dev/null 2>&1 & sleep 0.1`,
    escaped: lateMarker,
  },
  {
    title: 'a daemon that forks twice',
    run: () => `(setsid sh -c '(sleep 0.5; touch late) &' &) > /dev/null 2>&1; sleep 0.1`,
    escaped: lateMarker,
  },
  {
    title: 'a daemon that ignores signals',
    run: () => `setsid sh -c 'trap "" HUP TERM INT; sleep 0.5; touch late' > /dev/null 2>&1 & sleep 0.1`,
    escaped: lateMarker,
  },
  {
    title: 'a plain background job',
    run: () => '(sleep 0.5; touch late) &',
    escaped: lateMarker,
    no_control_run: 'without a sandbox its process group is killed too',
  },
  {
    title: 'keeping the output pipe open',
    run: () => 'sleep 30 & echo started',
    timeout: 8000,
    escaped: (_host, { success }) => !success,
    no_control_run: 'without a sandbox its process group is killed too',
  },
  {
    title: 'ignoring the timeout',
    run: () => `trap '' TERM INT HUP; setsid sh -c 'trap "" TERM; sleep 1.2; touch late' & sleep 20`,
    timeout: 400,
    escaped: lateMarker,
    no_control_run: 'the process would survive',
  },
]

const printedDone = (_host: HostFixture, { text }: { text: string }) => /\bDID\b/.test(text)
const harm = 'it would change the machine'

/** Attempts on the kernel write back the current value, so that a success does no harm. */
export const kernelAttempts: readonly Attempt[] = [
  {
    title: 'the kernel setting core_pattern',
    run: () => 'f=/proc/sys/kernel/core_pattern; v=$(cat $f); printf %s "$v" > $f && echo DID',
    escaped: printedDone,
    no_control_run: harm,
  },
  {
    title: 'other kernel settings',
    run: () =>
      'f=/proc/sys/vm/swappiness; v=$(cat $f); echo $v > $f && echo DID; f=/sys/kernel/mm/ksm/run; v=$(cat $f); echo $v > $f && echo DID',
    escaped: printedDone,
    no_control_run: harm,
  },
  {
    title: 'creating a namespace',
    run: () => 'unshare -Urm true && echo DID',
    escaped: printedDone,
    no_control_run: harm,
  },
  {
    title: 'mounting',
    run: () => 'mount -t tmpfs x /mnt && echo DID; mount -o remount,rw,bind /usr && echo DID',
    escaped: printedDone,
    no_control_run: harm,
  },
  {
    title: 'unmounting',
    run: () => 'umount -l /tmp && echo DID; umount -l .troupe && echo DID',
    escaped: printedDone,
    no_control_run: harm,
  },
  {
    title: 'reading a device',
    run: () => 'mknod d b 254 0 && head -c 1 d && echo DID; head -c 1 /dev/vda /dev/sda /dev/mem && echo DID',
    escaped: printedDone,
    no_control_run: harm,
  },
  {
    title: 'changing the user id',
    run: () => 'sudo -n true && echo DID; su -c true nobody && echo DID; setpriv --reuid 1 true && echo DID',
    escaped: printedDone,
    no_control_run: harm,
  },
  {
    title: 'entering the namespaces of a host process',
    run: ({ victim }) => `nsenter -t ${victim.pid} -a true && echo DID`,
    escaped: printedDone,
    no_control_run: harm,
  },
  {
    title: 'leaving its cgroup',
    run: () =>
      'for f in $(find /sys/fs/cgroup -name cgroup.procs 2>/dev/null | head -20); do echo $$ > $f && echo DID; done',
    escaped: printedDone,
    no_control_run: harm,
  },
  {
    title: 'raising its own limits',
    run: () => 'ulimit -t unlimited && echo DID; ulimit -Hn 100000 && echo DID; ulimit -d unlimited && echo DID',
    escaped: printedDone,
    no_control_run: harm,
  },
  {
    title: 'system calls that seccomp blocks',
    run: () => `python3 - <<'P'
import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
for name, number in (('io_uring', 425), ('keyctl', 250), ('add_key', 248), ('bpf', 321)):
    if libc.syscall(number, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (1, 38): print('DID', name, ctypes.get_errno())
for family in (1, 40):
    try: socket.socket(family, socket.SOCK_STREAM); print('DID', family)
    except OSError: pass
P`,
    escaped: printedDone,
    no_control_run: harm,
  },
]

const smallLimits = { limits: { memory_mb: 300, processes: 60, file_mb: 5, cpu_s: 1, scratch_mb: 10, open_files: 64 } }

let processesBefore = 0
const hostProcesses = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length

/** Run only inside the sandbox, with limits so small that even a broken sandbox does little harm. */
export const resourceExhaustionAttempts: readonly Attempt[] = [
  {
    title: 'a fork bomb',
    run: () => 'b() { b | b & }; b; sleep 2; touch survived',
    timeout: 4000,
    prepare: () => {
      processesBefore = hostProcesses()
    },
    escaped: async () => {
      await delay(200)
      return hostProcesses() > processesBefore + 40
    },
    no_control_run: 'destructive',
    sandbox: smallLimits,
  },
  {
    title: 'too many processes',
    run: () => `python3 -c '
import os, time
n = 0
try:
    while n < 2000:
        if os.fork() == 0: time.sleep(3); os._exit(0)
        n += 1
except OSError: pass
print("made", n)'`,
    escaped: (_host, { text }) => Number(/made (\d+)/.exec(text)?.[1] ?? 0) > 80,
    no_control_run: 'destructive',
    sandbox: smallLimits,
  },
  {
    title: 'memory exhaustion by one process',
    run: () => `python3 -c '
x = []
for _ in range(100): x.append(b"x" * 20_000_000)
print("DID")'`,
    escaped: printedDone,
    no_control_run: 'destructive',
    sandbox: smallLimits,
  },
  {
    title: 'memory exhaustion by several processes',
    run: () =>
      `for i in 1 2 3 4; do python3 -c 'import time; x = b"x" * 150_000_000; time.sleep(3)' & done; wait; echo DID`,
    escaped: printedDone,
    no_control_run: 'destructive',
    sandbox: smallLimits,
  },
  {
    title: 'memory exhaustion by files in /tmp',
    run: () => 'for i in $(seq 20); do head -c 4000000 /dev/zero > /tmp/f$i || exit 1; done; echo DID',
    escaped: printedDone,
    no_control_run: 'destructive',
    sandbox: smallLimits,
  },
  ...['/dev', '/dev/shm'].map(
    (folder): Attempt => ({
      title: `memory exhaustion by files in ${folder}`,
      run: () => `for i in $(seq 20); do head -c 4000000 /dev/zero > ${folder}/f$i || exit 1; done; echo DID`,
      escaped: printedDone,
      no_control_run: 'destructive',
      sandbox: smallLimits,
    }),
  ),
  {
    title: 'memory exhaustion by scratch files, more than the memory limit and less than scratch space',
    run: () => 'for i in $(seq 30); do head -c 4000000 /dev/zero > /tmp/f$i || exit 1; done; sleep 3; echo DID',
    escaped: printedDone,
    no_control_run: 'destructive',
    sandbox: { limits: { ...smallLimits.limits, memory_mb: 64, scratch_mb: 512 } },
  },
  {
    title: 'memory exhaustion by anonymous files (memfd)',
    run: () => `python3 -c '
import os, time
kept = []
for _ in range(40):
    kept.append(os.memfd_create("x"))
    os.write(kept[-1], b"x" * 4_000_000)
print("DID", flush=True)
time.sleep(1)'`,
    escaped: printedDone,
    sandbox: { limits: { ...smallLimits.limits, memory_mb: 64 } },
  },
  {
    title: 'memory exhaustion by System V shared memory',
    run: () => `python3 -c '
import ctypes, time
c = ctypes.CDLL(None)
c.shmat.restype = ctypes.c_void_p
c.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
c.shmdt.argtypes = [ctypes.c_void_p]
ids = []
for _ in range(40):
    ids.append(c.shmget(0, ctypes.c_size_t(4_000_000), 0o600))
    if ids[-1] < 0: raise OSError("shmget")
    at = c.shmat(ids[-1], None, 0)
    ctypes.memset(at, 120, 4_000_000)
    c.shmdt(at)
print("DID", flush=True)
time.sleep(1)
for each in ids: c.shmctl(each, 0, None)'`,
    escaped: printedDone,
    sandbox: { limits: { ...smallLimits.limits, memory_mb: 64 } },
  },
  ...uncountedObjects({
    'small segments of System V shared memory': ['shmget(0, ctypes.c_size_t(60_000), 0o600)', 'shmctl(id, 0, None)'],
    'System V semaphores': ['semget(0, 30_000, 0o600)', 'semctl(id, 0, 0)'],
    'System V message queues': ['msgget(0, 0o600)', 'msgctl(id, 0, None)'],
  }),
  {
    title: 'a huge file',
    run: () => 'head -c 50000000 /dev/zero > big && echo DID',
    escaped: printedDone,
    no_control_run: 'destructive',
    sandbox: smallLimits,
  },
  {
    title: 'CPU exhaustion',
    run: () => 'while :; do :; done',
    timeout: 8000,
    escaped: (_host, { text }) => text.includes('exceeded its timeout'),
    no_control_run: 'destructive',
    sandbox: smallLimits,
  },
  {
    title: 'a flood of output',
    run: () => 'yes flood | head -c 60000000',
    escaped: (_host, { text }) => text.length > 40_000,
    no_control_run: 'destructive',
  },
  {
    title: 'endless output',
    run: () => 'yes',
    timeout: 700,
    escaped: (_host, { text }) => text.length > 40_000 || !text.includes('exceeded its timeout'),
    no_control_run: 'destructive',
  },
]
