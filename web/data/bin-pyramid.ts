import { rangesWithout } from './answered-waits.ts'
import type { LaneColumns } from './lane-columns.ts'

/*
 * Busy time, without answered waits, and failures of a lane in bins whose width is a power of two. Bins are aligned to multiples of their width since 1970, so that
 * a picture made of them does not shimmer when it is moved. Each level has half the bins of the one before.
 */

export interface BinLevel {
  /** Width of a bin in milliseconds. */
  readonly width: number
  /** Number of the first bin: it starts at `first * width`. */
  readonly first: number
  /** Busy share of each bin, from 0 to 1. */
  readonly busy: Float32Array
  readonly failures: Uint16Array
}

export type BinPyramid = readonly BinLevel[]

const MOST_BINS = 2048
const WIDEST_BASE = 4096
const NARROWEST_BASE = 16

/** The width of the smallest bins for a run of a length. */
export function baseWidth(span: number): number {
  let width = NARROWEST_BASE
  while (width < WIDEST_BASE && span / width > MOST_BINS) width *= 2
  return width
}

export function binPyramidFrom(lane: LaneColumns, { width, now }: { width: number; now: number }): BinPyramid {
  if (!Number.isFinite(lane.first)) return []
  const levels = [baseLevel(lane, { width, now: Math.max(now, lane.first) })]
  for (let last = levels[0]; last && last.busy.length > 1; last = levels.at(-1)) levels.push(nextLevel(last))
  return levels
}

/** The level whose bins are at least `width` milliseconds wide. */
export function levelFor(pyramid: BinPyramid, width: number): BinLevel | undefined {
  return pyramid.find((level) => level.width >= width) ?? pyramid.at(-1)
}

function baseLevel(lane: LaneColumns, { width, now }: { width: number; now: number }): BinLevel {
  const first = Math.floor(lane.first / width)
  const count = Math.floor(Math.min(lane.last, now) / width) - first + 1
  const busy = new Float32Array(count)
  const failures = new Uint16Array(count)
  let covered = -Infinity
  for (let index = 0; index < lane.turns.rows.length; index += 1) {
    const from = Math.max(lane.turns.start[index] ?? 0, covered)
    const to = Math.min(lane.turns.workEnd[index] ?? 0, now)
    for (const [start, end] of rangesWithout([[from, to]], lane.turns.waits.get(index) ?? [])) {
      for (let bin = Math.floor(start / width); bin * width < end; bin += 1) {
        const share = (Math.min(end, (bin + 1) * width) - Math.max(start, bin * width)) / width
        busy[bin - first] = Math.min(1, (busy[bin - first] ?? 0) + share)
      }
    }
    covered = Math.max(covered, to)
  }
  lane.calls.rows.forEach(({ status, started_at }) => {
    const bin = Math.floor(started_at / width) - first
    if (status === 'failed') failures[bin] = (failures[bin] ?? 0) + 1
  })
  return { width, first, busy, failures }
}

function nextLevel({ width, first, busy, failures }: BinLevel): BinLevel {
  const start = Math.floor(first / 2)
  const count = Math.floor((first + busy.length - 1) / 2) - start + 1
  const next = {
    width: width * 2,
    first: start,
    busy: new Float32Array(count),
    failures: new Uint16Array(count),
  }
  busy.forEach((share, index) => {
    const bin = Math.floor((first + index) / 2) - start
    next.busy[bin] = (next.busy[bin] ?? 0) + share / 2
    next.failures[bin] = (next.failures[bin] ?? 0) + (failures[index] ?? 0)
  })
  return next
}
