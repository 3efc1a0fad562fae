import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const CHILD = fileURLToPath(new URL('./rate-limit-child.ts', import.meta.url))
const LIMIT = { requests_per_minute: 600, burst: 20 }
const ENOUGH = 45

test('RL1 two processes on one store together never send more requests than the limit', async () => {
  const store = mkdtempSync(join(tmpdir(), 'troupe-rate-'))
  const counts = [0, 0]
  const enough = Promise.withResolvers<void>()
  const began = performance.now()
  const processes = counts.map((_, index) => {
    const child = spawn(process.execPath, [CHILD, store, JSON.stringify(LIMIT)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    createInterface(child.stdout).on('line', () => {
      counts[index] = (counts[index] ?? 0) + 1
      if (counts.reduce((sum, count) => sum + count, 0) >= ENOUGH) enough.resolve()
    })
    return child
  })
  await enough.promise
  for (const child of processes) child.kill('SIGKILL')
  await Promise.all(processes.map((child) => once(child, 'close')))
  const elapsedMinutes = (performance.now() - began) / 60_000
  const sent = counts.reduce((sum, count) => sum + count, 0)
  // The time includes the start and the end of the processes, so this bound is generous, but less than two separate limits.
  expect(sent).toBeLessThanOrEqual(LIMIT.burst + Math.ceil(elapsedMinutes * LIMIT.requests_per_minute))
  expect(Math.min(...counts)).toBeGreaterThan(0)
  rmSync(store, { recursive: true, force: true })
})
