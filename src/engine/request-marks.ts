import {
  closeSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import type { Event, EventOf } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { shortHash } from '../kernel/hash.ts'
import type { RequestMark, RequestMarks, RequestProgress } from '../kernel/request-progress.ts'
import type { ConnectedTime } from '../kernel/session/lost-model-calls.ts'
import type { World } from '../kernel/world.ts'
import type { Lease, Store } from '../store/store.ts'
import { diedBy } from './lease-heartbeat.ts'
import { isOwnerDead } from './lease-owner.ts'

/*
 * Marks how far the model requests of a process got, in a small file per process beside the store.
 * 1. A write is in the page cache when it returns: it survives a kill, and costs microseconds instead of a commit. It does not
 *    survive a power failure, so marks count only within the boot in which they were written.
 * 2. A mark is written before the first byte of its request. Without a mark, a request was not sent; without the file, nothing is known.
 * 3. A slot is used again only when the outcome of its request is stored.
 * 4. A file that cannot be written is emptied and removed: marks that are missing in it would make sent requests look unsent.
 * 5. A folder that is a link is not used: a repository could contain it, and old files are removed from it (symlink attack).
 */

const HEADER_BYTES = 512
const SLOT_BYTES = 96
const RUN_BYTES = 48
/** Offset of the last sign of life in the header. */
const ALIVE_OFFSET = HEADER_BYTES - 8
const FORMAT = 1
/** The name of a file: the short hash of its owner. */
const MARK_NAME = /^[0-9a-f]{16}$/
/** Files of dead processes whose runs nobody has resumed are removed after this. */
const MAX_AGE_MS = 7 * 24 * 60 * 60 * 1000

/** Between two signs of life while requests are sent or answered: a dead process cannot have received more after the last one. */
const ALIVE_MS = 250
/** Tolerance for a sign of life that was late. */
const LATE_MS = 1000

export interface RequestMarkFile extends RequestMarks {
  /** The progress of an open request of this process; `undefined` if nothing was sent. */
  progress(run_id: string, seq: number): RequestProgress | undefined
  /** Removes the file. */
  close(): void
}

interface MarkOptions {
  /** Without a folder, the marks end with the process. */
  folder: string | undefined
  owner: string
  world: World
  idle_timeout_ms?: number | undefined
}

/** The folder of the marks, beside the store; `undefined` if the store is not in a file and ends with its process. */
export function markFolder({ location, backUp }: Pick<Store, 'location' | 'backUp'>): string | undefined {
  return backUp ? `${location}-requests` : undefined
}

export function openRequestMarks(options: MarkOptions): RequestMarkFile {
  return new MarkFile(options)
}

interface ClosedSlot {
  slot: number
  isCommitted: () => boolean
}

class MarkFile implements RequestMarkFile {
  readonly #path: string
  readonly #options: MarkOptions
  /** `undefined` before the first mark; -1 if there are no marks any more. */
  #file: number | undefined
  readonly #buffer = Buffer.alloc(SLOT_BYTES)
  #slots = 0
  readonly #closed: ClosedSlot[] = []
  /** Requests that were sent and have no outcome. */
  #inFlight = 0
  #cancelTimer: (() => void) | undefined
  /** By run and seq; the objects change while their responses arrive. */
  readonly #open = new Map<string, RequestProgress>()

  constructor(options: MarkOptions) {
    this.#path = join(options.folder ?? '', shortHash(options.owner))
    this.#options = options
  }

  progress(run_id: string, seq: number): RequestProgress | undefined {
    return this.#open.get(`${run_id}:${seq}`)
  }

  open(run_id: string, seq: number): RequestMark {
    // Created before the request is: a process without a file has sent nothing that a mark could tell.
    this.#create()
    let slot: number | undefined
    return {
      write: (progress) => {
        this.#open.set(`${run_id}:${seq}`, progress)
        if (this.#file === -1) return
        if (slot === undefined) {
          slot = this.#takeSlot()
          this.#inFlight += 1
          if (this.#inFlight === 1) this.#keepAlive()
        }
        this.#write(encodeSlot(this.#buffer, { run_id, seq, progress }), HEADER_BYTES + slot * SLOT_BYTES)
      },
      close: (isCommitted) => {
        this.#open.delete(`${run_id}:${seq}`)
        if (slot === undefined) return
        this.#closed.push({ slot, isCommitted })
        this.#inFlight -= 1
        if (this.#inFlight === 0) this.#cancelTimer?.()
      },
    }
  }

  #keepAlive(): void {
    const alive = Buffer.alloc(8)
    const beat = () => {
      alive.writeDoubleLE(this.#options.world.now())
      this.#write(alive, ALIVE_OFFSET)
      this.#cancelTimer = this.#options.world.after(ALIVE_MS, beat)
    }
    this.#cancelTimer = this.#options.world.after(ALIVE_MS, beat)
  }

  close(): void {
    this.#cancelTimer?.()
    if (this.#file !== undefined) this.#remove()
  }

  #create(): void {
    if (this.#file !== undefined) return
    const { folder, owner, world, idle_timeout_ms } = this.#options
    this.#file = -1
    if (folder === undefined) return
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      if (!lstatSync(folder).isDirectory()) return
      removeOldFiles(folder, world.now())
      this.#file = openSync(this.#path, 'w+', 0o600)
      const header = Buffer.alloc(HEADER_BYTES)
      header.write(`${JSON.stringify({ format: FORMAT, owner, idle_timeout_ms })}\n`)
      header.writeDoubleLE(world.now(), ALIVE_OFFSET)
      this.#write(header, 0)
    } catch {
      this.#remove()
    }
  }

  #write(bytes: Buffer, position: number): void {
    if (this.#file === undefined || this.#file === -1) return
    try {
      writeSync(this.#file, bytes, 0, bytes.length, position)
    } catch {
      this.#remove()
    }
  }

  /** From now on lost requests count as before there were marks: at most what fits in the time. */
  #remove(): void {
    const file = this.#file
    this.#file = -1
    if (file === undefined || file === -1) return
    try {
      ftruncateSync(file)
      closeSync(file)
      rmSync(this.#path, { force: true })
    } catch {
      // An empty file says nothing either, and is removed when it is old.
    }
  }

  #takeSlot(): number {
    const oldest = this.#closed.shift()
    if (oldest?.isCommitted()) return oldest.slot
    if (oldest) this.#closed.push(oldest)
    return this.#slots++
  }
}

interface Slot {
  run_id: string
  seq: number
  progress: RequestProgress
}

function encodeSlot(buffer: Buffer, { run_id, seq, progress }: Slot): Buffer {
  const { sent_at = 0, received_at = 0, last_received_at = 0, received_chars } = progress
  const numbers = [seq, sent_at, received_at, last_received_at, received_chars]
  numbers.forEach((number, index) => void buffer.writeDoubleLE(number, index * 8))
  buffer.fill(0, SLOT_BYTES - RUN_BYTES)
  buffer.write(runName(run_id), SLOT_BYTES - RUN_BYTES, 'latin1')
  return buffer
}

function runName(run_id: string): string {
  return /^[\w-]{1,48}$/.test(run_id) ? run_id : shortHash(run_id)
}

/** The progress of the open requests of a process. */
export interface OpenRequestMarks {
  /** After this long without a byte a request fails. */
  idle_timeout_ms?: number
  /** `undefined` for a request of which nothing was sent. */
  progress(run_id: string, seq: number): RequestProgress | undefined
}

/** The marks of a process that ended. */
export interface PastRequests {
  /** The latest time at which the process can have sent or received something. */
  died_by: number
  /** How far a request got; without a mark, it was not sent. */
  progress(run_id: string, seq: number): RequestProgress
}

/** `undefined` if nothing is known: the owner may be alive, wrote no marks, or wrote them before the machine was started again. */
export function readRequestMarks(folder: string, owner: string, now: number): PastRequests | undefined {
  const marks = isOwnerDead(owner) ? readMarkFile(folder, owner) : undefined
  if (!marks) return undefined
  const { slots } = marks
  const times = [...slots.values()].flatMap(({ sent_at = 0, last_received_at = 0 }) => [sent_at, last_received_at])
  const alive_at = times.reduce((latest, time) => Math.max(latest, time), marks.alive_at)
  // Where a boot has no id, a process of an earlier boot looks dead, too.
  if (alive_at < now - uptime() * 1000) return undefined
  const died_by = Math.min(now, alive_at + ALIVE_MS + LATE_MS)
  return { died_by, progress: (run_id, seq) => slots.get(slotName(run_id, seq)) ?? { received_chars: 0 } }
}

/** The marks of a process that may be at work; `undefined` if it wrote none here, such as a process of another machine. */
export function readOpenRequests(folder: string, owner: string): OpenRequestMarks | undefined {
  const marks = readMarkFile(folder, owner)
  return marks && { ...marks.header, progress: (run_id, seq) => marks.slots.get(slotName(run_id, seq)) }
}

interface MarkHeader {
  format: number
  owner: string
  idle_timeout_ms?: number
}

function readMarkFile(folder: string, owner: string) {
  const bytes = readBytes(join(folder, shortHash(owner)))
  const header = bytes && headerFrom(bytes)
  if (!bytes || header?.format !== FORMAT || header.owner !== owner) return undefined
  const slots = new Map<string, RequestProgress>()
  for (let offset = HEADER_BYTES; offset + SLOT_BYTES <= bytes.length; offset += SLOT_BYTES) {
    const { name, progress } = decodeSlot(bytes, offset)
    slots.set(name, progress)
  }
  return { header, slots, alive_at: bytes.readDoubleLE(ALIVE_OFFSET) }
}

function slotName(run_id: string, seq: number): string {
  return `${runName(run_id)}:${seq}`
}

function decodeSlot(bytes: Buffer, offset: number): { name: string; progress: RequestProgress } {
  const [seq = 0, sent_at = 0, received_at = 0, last_received_at = 0, received_chars = 0] = [0, 1, 2, 3, 4].map(
    (index) => bytes.readDoubleLE(offset + index * 8),
  )
  const run = bytes.toString('latin1', offset + SLOT_BYTES - RUN_BYTES, offset + SLOT_BYTES).replace(/\0+$/, '')
  const received = received_at === 0 ? undefined : { received_at, last_received_at }
  return { name: `${run}:${seq}`, progress: { sent_at, received_chars, ...received } }
}

function readBytes(path: string): Buffer | undefined {
  try {
    const bytes = readFileSync(path)
    return bytes.length >= HEADER_BYTES ? bytes : undefined
  } catch {
    return undefined
  }
}

function headerFrom(bytes: Buffer): MarkHeader | undefined {
  try {
    return JSON.parse(bytes.toString('utf8', 0, bytes.indexOf('\n'))) as MarkHeader
  } catch {
    return undefined
  }
}

function removeOldFiles(folder: string, now: number): void {
  for (const name of readdirSync(folder).filter((file) => MARK_NAME.test(file))) {
    const path = join(folder, name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat?.isFile() && now - stat.mtimeMs > MAX_AGE_MS) rmSync(path, { force: true })
  }
}

export interface LostRequestContext {
  lease: Lease
  world: World
  /** The folder with the marks of processes, if the store has one. */
  folder: string | undefined
}

/**
 * Tells how far the requests that a crash left open got: by the marks of the process that began them, or else as if each was sent when
 * it began and was answered until the process ended.
 */
export function lostRequestTimes(
  events: readonly Event[],
  { lease, world, folder }: LostRequestContext,
): (begin: EventOf<'model:begin'>) => ConnectedTime {
  const now = world.now()
  const marks = new Map<string, PastRequests | undefined>()
  const marksOf = (owner: string | undefined) => {
    if (owner === undefined || folder === undefined) return undefined
    if (!marks.has(owner)) marks.set(owner, readRequestMarks(folder, owner, now))
    return marks.get(owner)
  }
  return (begin) => {
    const past = marksOf(ownerAt(events, begin.seq))
    if (!past) return { progress: { sent_at: begin.at, received_chars: 0 }, to: diedBy(lease, now) }
    return { progress: past.progress(begin.run_id, begin.seq), to: past.died_by }
  }
}

/** The owner of the run when an event was appended: an attempt that crashed may have left requests of an earlier one open. */
function ownerAt(events: readonly Event[], seq: number): string | undefined {
  const attempt = events.findLast((event) => event.seq < seq && event.type === 'run:attempt')
  return isEvent(attempt, 'run:attempt') ? attempt.data.owner : undefined
}
