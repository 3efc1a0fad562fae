import { handoffModel, handoffInput } from './handoff.ts'
import { openStage, openStore } from './stage.ts'
import { team } from '../src/patterns/team/team.ts'
const input = handoffInput(50)
for (let s = 0; s < 12; s++) {
const stage = openStage({ store: await openStore('memory', ''), model: handoffModel() })
for (let i = 0; i < 200; i++) await stage.play(async (context) => { await team.execute(context, input as never) })
}
