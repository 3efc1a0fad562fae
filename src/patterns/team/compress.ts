import { TEAM, USER } from '../../judgement/team/definition.ts'
import type { Agent } from '../../kernel/agent.ts'
import { runErrand } from './errand.ts'
import type { Floor } from './floor.ts'
import { roomIn } from './floor.ts'
import { requestIn } from './handed-down.ts'
import type { Line } from './prompts.ts'
import { lineMessage, lineText, SUMMARY } from './prompts.ts'

/** The newest messages, which stay whole. */
const WHOLE = 4
/** The share of the conversation that has to go for a summary to be worth its price. */
const WORTH = 0.2
/** How much of the room what the user said may take. */
const USERS_SHARE = 0.5

/**
 * Keeps the conversation within the team's limit: older messages become a summary. What was asked, every handoff with its
 * reason and every artifact's name stay to the letter. The history of the run keeps all of it.
 */
export async function keepRoom(floor: Floor): Promise<void> {
  const { context, thread, lines, round } = floor
  if (thread.bytes <= floor.roomy) return
  const older = lines.slice(0, -WHOLE)
  const asked = askedIn(older, floor)
  const replaced = older.filter((line) => !asked.includes(line))
  // What little stands between the words of the user is not worth a call, and its summary might be longer.
  if (replaced.length < 2 || bytesOf(replaced) < thread.bytes * WORTH) return
  const key = `round/${round}/compress`
  const before = thread.bytes
  const request = { key: `${key}/summary`, thread, instruction: SUMMARY }
  const result = await runErrand(floor, scribe(floor.plan.preamble), request)
  const messages = replaced.length
  // Pinned: a summary that was cut short, and succeeds when the run is resumed, must not change what later turns had read.
  const summed = await context.step(`${key}/summed`, () => result.status === 'completed' && result.text.trim() !== '')
  if (!summed) {
    // Left as it is, and tried again when it has doubled: a summary that fails in every turn would cost more than it saves.
    floor.roomy = before * 2
    const error = result.error?.message ?? 'the summary was empty'
    context.emit(key, 'team:compress', { round, before, after: before, messages: 0, error })
    return
  }
  const kept: Line[] = [
    ...asked,
    {
      from: TEAM,
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

/**
 * What the user said stays to the letter: the request and the newest of it, as far as that leaves room for the others.
 * Of a conversation that goes on for long, a summary would keep the first thing that was asked and lose the last.
 */
function askedIn(older: readonly Line[], floor: Floor): Line[] {
  const request = requestIn(floor)
  const kept = new Set<Line>()
  let room = roomIn(floor.plan) * USERS_SHARE
  for (const line of older.filter(({ from }) => from === USER).reverse()) {
    room -= bytesOf([line])
    if (room > 0 || kept.size === 0 || line === request) kept.add(line)
  }
  return older.filter((line) => kept.has(line))
}

function bytesOf(lines: readonly Line[]): number {
  return lines.reduce((sum, line) => sum + Buffer.byteLength(lineText(line)), 0)
}

function scribe(preamble: string): Agent {
  const description = 'Writes down what a team has come to when its conversation gets long'
  return { name: 'scribe', description, instructions: preamble, temperature: 0, tools: [] }
}
