import { mkdtempSync } from 'node:fs'
import { bytesOf } from './handoff.ts'
const folder = mkdtempSync('/tmp/hb-')
let last = 0, lastN = 0
for (const n of [2, 10, 50, 100, 200, 400]) { const b = await bytesOf(n, folder); console.log(n, b, (b - last) / (n - lastN)); last = b; lastN = n }
