import { chainOn } from './handoff.ts'
import { openStore } from './stage.ts'
const n = Number(process.argv[2] ?? 50)
const runs = Number(process.argv[3] ?? 200)
const play = chainOn(await openStore('memory', ''))
for (let i = 0; i < 40; i++) await play(n)
const best: number[] = []
for (let r = 0; r < 10; r++) {
  const t = process.cpuUsage().user
  for (let i = 0; i < runs / 10; i++) await play(n)
  best.push((process.cpuUsage().user - t) / (runs / 10) / n)
}
console.log(best.map((b) => b.toFixed(0)).join(' '))
