import { test } from 'vitest'
import { Disk } from './disk.ts'
import { Ledger, Life } from './life.ts'
import { play } from './play.ts'
import { verifyJournal } from '../../src/kernel/verify.ts'
test('t', async () => {
  const disk = new Disk(); const ledger = new Ledger(disk)
  const slow = { model: 40, tool: 20, store: 3 }
  await play({ seed: 1, faults: [], slow, answers: 'parked', thinks: 0 })
  let t = performance.now()
  for (let i = 0; i < 50; i++) await new Life({ seed: 1, start: 0, fault: { kind: 'none' }, slow }, disk, ledger).open()
  console.log('open', (performance.now() - t) / 50)
  t = performance.now()
  let p
  for (let i = 0; i < 50; i++) p = await play({ seed: 1, faults: [], slow, answers: 'parked', thinks: 0 })
  console.log('play', (performance.now() - t) / 50)
  t = performance.now()
  for (let i = 0; i < 50; i++) verifyJournal(p?.journal ?? [])
  console.log('verify', (performance.now() - t) / 50)
})
