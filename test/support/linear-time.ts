import { expect } from 'vitest'

const RUNS = 5
/** Linear work takes 8 times as long, quadratic work 64 times. */
const MAX_RATIO = 24
/** Shorter times say more about the machine than about the work. */
const SHORTEST_MS = 1

/** Compares the work on a hostile input with that on one an eighth as long, best of five. A ratio of processor times does not depend on how busy the machine is. */
export async function expectLinearTime(work: (length: number) => unknown, length: number, name = ''): Promise<void> {
  const best = { short: Number.POSITIVE_INFINITY, long: Number.POSITIVE_INFINITY }
  for (let run = 0; run < RUNS; run++) {
    best.short = Math.min(best.short, await processorTime(() => work(length / 8)))
    best.long = Math.min(best.long, await processorTime(() => work(length)))
  }
  expect(best.long / Math.max(best.short, SHORTEST_MS), `time ratio ${name}`).toBeLessThan(MAX_RATIO)
}

async function processorTime(work: () => unknown): Promise<number> {
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}
