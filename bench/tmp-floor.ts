import { handoffModel, handoffInput } from './handoff.ts'
import { openStage, openStore } from './stage.ts'
import { Thread } from '../src/kernel/thread.ts'
import { userText } from '../src/kernel/model.ts'
import { team } from '../src/patterns/team/team.ts'
import { answerSchema } from '../src/patterns/team/answer.ts'
const n = 50
const input = handoffInput(n)
async function measure(name: string, work: (context: any) => Promise<unknown>) {
  const out: number[] = []
  const stage = openStage({ store: await openStore('memory', ''), model: handoffModel() })
  for (let i = 0; i < 60; i++) await stage.play(work as never)
  for (let r = 0; r < 12; r++) {
    const t = process.cpuUsage().user
    for (let i = 0; i < 20; i++) await stage.play(work as never)
    out.push((process.cpuUsage().user - t) / 20 / n)
  }
  out.sort((a, b) => a - b)
  console.log(name, 'min', out[0].toFixed(0), 'median', out[6].toFixed(0))
}
const agents = input.team.agents.map((a: any) => ({ name: a.name, description: '', instructions: 'x'.repeat(1100) }))
for (let k = 0; k < 2; k++) {
await measure('perform', async (context) => {
  const thread = new Thread()
  thread.add(userText(input.message))
  for (const [i, a] of agents.entries()) {
    const r = await context.perform(a, { thread, instruction: `You are ${a.name}, go on.`, output: answerSchema, words: true }, { key: `round/${i}` })
    thread.add(userText(JSON.stringify({ from: a.name, text: r.object.response })))
  }
})
await measure('team', async (context) => team.execute(context, input as never))
}
