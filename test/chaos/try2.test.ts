import { writeSync } from 'node:fs'
import { test } from 'vitest'
import { complaints, expectedOf } from './oracle.ts'
import { play } from './play.ts'
import { randomPlan } from './random-plan.ts'

test('try', async () => {
  const slow0 = { model: 0, tool: 0, store: 0 }
  const expected = expectedOf(await play({ seed: 1, faults: [], slow: slow0, answers: 'parked', thinks: 0 }))
  const t = performance.now()
  const seen = new Map<string, number>()
  const from = Number(process.env.FROM ?? 1),
    n = Number(process.env.N ?? 300)
  for (let s = from; s < from + n; s++) {
    if (process.env.TRACE) writeSync(2, s + ' ')
    const p = await play(randomPlan(s))
    for (const x of complaints(p, expected)) {
      const k = x
        .replace(/[0-9a-f]{16,}/g, '#')
        .replace(/\d+/g, '9')
        .slice(0, 100)
      if (!seen.has(k)) console.log(s, JSON.stringify(p.plan), x.slice(0, 400), n === 1 ? p.errors : '')
      seen.set(k, (seen.get(k) ?? 0) + 1)
    }
    if (n === 1)
      console.log(p.journal.map((e) => e.seq + ' ' + e.type + ' ' + JSON.stringify(e.data).slice(0, 140)).join('\n'))
  }
  console.log(n, performance.now() - t, seen)
}, 600000)
