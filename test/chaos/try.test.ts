import { test } from 'vitest'
import { complaints, expectedOf } from './oracle.ts'
import { play } from './play.ts'
import type { Fault } from './life.ts'
test('try', async () => {
  const slow0 = { model: 0, tool: 0, store: 0 }
  const warm = await play({ seed: 1, faults: [], slow: slow0, answers: 'parked', thinks: 0 })
  const expected = expectedOf(warm)
  for (const slow of [slow0, { model: 40, tool: 20, store: 0 }, { model: 40, tool: 20, store: 3 }]) {
    const base = await play({ seed: 1, faults: [], slow, answers: 'parked', thinks: 0 })
    console.log(complaints(base, expected))
    const t = performance.now()
    const seen = new Map<string, number>()
    const n = base.lives[0]?.length ?? 0
    for (const kind of (process.env.KINDS ?? 'kill,power,suspend,full').split(','))
    for (let at = 1; at <= n; at++) {
      const p = await play({ seed: 1, faults: [{ kind, at, steps: 10000 } as Fault], slow, answers: 'parked', thinks: 0 })
      const c = complaints(p, expected)
      for (const x of c) { const k = kind + ' ' + x.replace(/[0-9a-f]{16,}/g, '#').slice(0, 300); if (!seen.has(k)) { seen.set(k, at) ; if (seen.size<25) console.log(kind, at, base.lives[0]?.[at-1], x.slice(0, 600)) } }
    }
    console.log(n, performance.now() - t, seen.size)
  }
}, 300000)
