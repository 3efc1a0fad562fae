import { test } from 'vitest'
import { verifyJournal } from '../../src/kernel/verify.ts'
import { play } from './play.ts'
test('try', async () => {
  for (const slow of [{ model: 0, tool: 0, store: 0 }, { model: 40, tool: 20, store: 3 }]) {
    const t = performance.now()
    const p = await play({ seed: 1, faults: [], slow, answers: 'parked' })
    console.log(performance.now() - t, p.result?.status, p.result?.output, p.errors, p.lives.map((l) => l.length), p.ledger.calls.length, [...p.ledger.effects.values()].map((e) => e.times).join())
    console.log(verifyJournal(p.journal), p.journal.length)
  }
})
