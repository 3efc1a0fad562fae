import type { Agent } from '../../kernel/agent.ts'
import { runErrand } from './errand.ts'
import type { Floor } from './floor.ts'
import type { Line } from './prompts.ts'
import { lineMessage, SUMMARY } from './prompts.ts'

/** The newest messages, which stay whole. */
const WHOLE = 4

/**
 * Keeps the conversation within the team's limit: older messages become a summary. What was asked, every handoff with its
 * reason and every artifact's name stay to the letter. The history of the run keeps all of it.
 */
export async function keepRoom(floor: Floor): Promise<void> {
  const { context, thread, lines, round } = floor
  if (thread.bytes <= floor.roomy || lines.length <= WHOLE + 2) return
  const key = `round/${round}/compress`
  const before = thread.bytes
  const request = { key: `${key}/summary`, thread, instruction: SUMMARY }
  const result = await runErrand(floor, scribe(floor.plan.preamble), request)
  const messages = lines.length - WHOLE - 1
  // Pinned: a summary that was cut short, and succeeds when the run is resumed, must not change what later turns had read.
  const summed = await context.step(`${key}/summed`, () => result.status === 'completed' && result.text.trim() !== '')
  if (!summed) {
    // Left as it is, and tried again when it has doubled: a summary that fails in every turn would cost more than it saves.
    floor.roomy = before * 2
    const error = result.error?.message ?? 'the summary was empty'
    context.emit(key, 'team:compress', { round, before, after: before, messages: 0, error })
    return
  }
  const [first] = lines
  const kept: Line[] = [
    ...(first ? [first] : []),
    {
      from: 'team',
      summary: result.text,
      decisions: floor.handoffs.map(
        ({ round: at, from, to, handoff_reason }) => `${at}: ${from} → ${to ?? 'nobody'}: ${handoff_reason}`,
      ),
      artifacts: [...new Set(floor.artifacts)],
    },
    ...lines.slice(-WHOLE),
  ]
  lines.splice(0, lines.length, ...kept)
  thread.replace(kept.map(lineMessage))
  floor.roomy = Math.max(floor.roomy, thread.bytes * 2)
  context.emit(key, 'team:compress', { round, before, after: thread.bytes, messages })
}

function scribe(preamble: string): Agent {
  const description = 'Writes down what a team has come to when its conversation gets long'
  return { name: 'scribe', description, instructions: preamble, temperature: 0, tools: [] }
}
